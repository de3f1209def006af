package dev.athanor.engine.lift;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import java.util.Optional;
import java.util.function.Consumer;

/** A kernel that runs as plain Java: one thread for each GPU thread. For tests and debuggers. */
public final class HostKernel {
  private final JavaKernel kernel;
  private final Optional<Dim3> block;
  private final int dynamicSharedBytes;
  private final Consumer<String> output;

  HostKernel(JavaKernel kernel) {
    this(kernel, kernel.blockSize(), 0, GpuThread.STANDARD_OUTPUT);
  }

  private HostKernel(
      JavaKernel kernel, Optional<Dim3> block, int dynamicSharedBytes, Consumer<String> output) {
    this.kernel = kernel;
    this.block = block;
    this.dynamicSharedBytes = dynamicSharedBytes;
    this.output = output;
  }

  /**
   * Sets the threads of a block.
   *
   * @throws IllegalArgumentException if the kernel declares another shape
   */
  public HostKernel block(Dim3 value) {
    kernel.requireBlock(value);
    return new HostKernel(kernel, Optional.of(value), dynamicSharedBytes, output);
  }

  /** Sets the bytes of the dynamic shared array. */
  public HostKernel dynamicShared(int bytes) {
    return new HostKernel(kernel, block, bytes, output);
  }

  /**
   * Sets what receives the text of each {@link Gpu#print}, one call at a time. By default, the
   * standard output does.
   */
  public HostKernel output(Consumer<String> receiver) {
    return new HostKernel(kernel, block, dynamicSharedBytes, receiver);
  }

  /** Launches a one-dimensional grid, as {@link #launch(Dim3, Object...)}. */
  public void launch(int blocks, Object... arguments) {
    launch(Dim3.of(blocks), arguments);
  }

  /**
   * Runs all threads and waits for them.
   *
   * @throws dev.athanor.engine.device.DeviceException.KernelFault if a thread throws
   */
  public void launch(Dim3 grid, Object... arguments) {
    PlainJava.run(
        kernel.method(),
        grid,
        block.orElseThrow(kernel::noBlock),
        dynamicSharedBytes,
        output,
        arguments);
  }
}
