package dev.athanor.ops.lift;

import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;

/** The variant of a kernel that is a Java method, lifted without checks. */
record KernelVariant(JavaKernel kernel) implements Variant {

  @Override
  public String name() {
    return kernel.name();
  }

  @Override
  public Kernel build() {
    return kernel.module(false).kernels().getFirst();
  }
}
