package dev.athanor.engine.cuda.memory;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuMemFreeHost;
import static jcuda.driver.JCudaDriver.cuMemHostAlloc;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.DeferredFrees;
import dev.athanor.engine.cuda.driver.CudaError;
import dev.athanor.engine.cuda.driver.HostPointer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Allocates page-locked host memory. Copies from and to it are asynchronous. The memory outlives
 * the caller's segment until work enqueued before the close has completed.
 */
public final class PinnedMemory {

  private final Context context;
  private final DeferredFrees deferredFrees;
  private final Set<HostMemory> open = ConcurrentHashMap.newKeySet();

  public PinnedMemory(Context context, DeferredFrees deferredFrees) {
    this.context = context;
    this.deferredFrees = deferredFrees;
  }

  /**
   * Allocates page-locked memory.
   *
   * @throws DeviceException.OutOfMemory if the host has none left
   */
  @SuppressWarnings("restricted") // the driver allocated that many bytes at the address
  public HostMemory allocate(long bytes) {
    HostMemory.check(bytes);
    context.requireUsable();
    deferredFrees.sweep();
    var address = new HostPointer();
    int result = tryAllocate(address, bytes);
    if (result != CUDA_SUCCESS && deferredFrees.finish()) {
      result = tryAllocate(address, bytes);
    }
    if (result != CUDA_SUCCESS) {
      throw DeviceException.OutOfMemory.ofHost(
          bytes, "cuMemHostAlloc failed with " + CudaError.describe(result));
    }
    var arena = Arena.ofShared();
    var allocated =
        new HostMemory(
            MemorySegment.ofAddress(address.value()).reinterpret(bytes, arena, null),
            arena,
            closed -> release(closed, address));
    open.add(allocated);
    return allocated;
  }

  /** Returns the driver's result code; throws if the context is lost. */
  private int tryAllocate(HostPointer address, long bytes) {
    context.enter();
    int result = cuMemHostAlloc(address, bytes, 0);
    if (CudaError.fatal(result)) {
      context.check(result, "cuMemHostAlloc");
    }
    return result;
  }

  private void release(HostMemory closed, HostPointer address) {
    open.remove(closed);
    if (!context.isUnusable()) {
      deferredFrees.add(() -> {
        context.enter();
        context.check(cuMemFreeHost(address), "cuMemFreeHost");
      });
    }
  }

  /** Closes all open memory. */
  public void close() {
    open.forEach(HostMemory::close);
  }
}
