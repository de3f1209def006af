package dev.athanor.ops;

import dev.athanor.engine.ptx.Kernel;

/**
 * What a kernel is built from: a record of tile shapes, types and switches. Sizes are no part of
 * it, they are parameters of the kernel, so that one kernel serves them all. Equal variants build
 * equal kernels.
 */
public interface Variant {

  /** The kernel's name, which says all that the variant says: {@code softmax_f16_256_v8}. */
  String name();

  /** Writes the kernel. */
  Kernel build();
}
