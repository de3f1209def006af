package dev.athanor.engine.cuda.module;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.driver.FunctionHandle;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.ptx.Kernel;

/** A kernel loaded on a GPU. */
public final class CudaKernel implements LoadedKernel {

  private final Kernel kernel;
  private final Origin origin;
  private final LoadedModule.Function function;

  CudaKernel(Kernel kernel, Origin origin, LoadedModule.Function function) {
    this.kernel = kernel;
    this.origin = origin;
    this.function = function;
  }

  @Override
  public Kernel kernel() {
    return kernel;
  }

  @Override
  public Origin origin() {
    return origin;
  }

  @Override
  public int registers() {
    return function.registers();
  }

  /** Returns the bytes of local memory per thread: stack and spilled registers. */
  public int localBytes() {
    return function.localBytes();
  }

  @Override
  public int spilledBytes() {
    return function.spilledBytes();
  }

  /** Returns the log of the driver's compiler; empty if the code came from a cache. */
  public String log() {
    return function.log();
  }

  public String name() {
    return kernel.name();
  }

  public FunctionHandle function() {
    return function.handle();
  }

  /**
   * Raises the kernel's limit of dynamic shared memory to what the GPU allows, before the first
   * launch beyond the 48 KiB that every kernel may have. The limit costs nothing: a block occupies
   * what its launch requests.
   */
  public void allowShared(int dynamicBytes) {
    function.allowShared(dynamicBytes);
  }

  /** Returns the number of blocks that are resident on a multiprocessor at once. */
  public int residentBlocks(int threads, int dynamicBytes) {
    return function.residentBlocks(threads, dynamicBytes);
  }

  /**
   * Returns a kernel as one loaded in this context.
   *
   * @throws IllegalArgumentException if another device loaded it
   */
  public static CudaKernel of(Context context, LoadedKernel kernel) {
    if (!(kernel instanceof CudaKernel own) || own.function.context() != context) {
      throw new IllegalArgumentException(
          "kernel %s was not loaded on %s".formatted(kernel.kernel().name(), context.id()));
    }
    return own;
  }
}
