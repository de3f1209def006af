package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuMemFreeHost;
import static jcuda.driver.JCudaDriver.cuMemHostAlloc;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Page-locked host memory. Streams copy from and to it directly, as all native memory, and return
 * before the copy is done. Its address outlives the segment that callers have, since work that was
 * enqueued before may still use it.
 */
final class PinnedMemory {

  private final Context context;
  private final Set<HostMemory> open = ConcurrentHashMap.newKeySet();

  PinnedMemory(Context context) {
    this.context = context;
  }

  @SuppressWarnings("restricted") // the driver says how much memory lies at the address
  HostMemory allocate(long bytes) {
    HostMemory.check(bytes);
    context.requireUsable();
    context.afterwards().sweep();
    var address = new HostPointer();
    int result = ask(address, bytes);
    if (result != CUDA_SUCCESS && context.afterwards().finish()) {
      result = ask(address, bytes);
    }
    if (result != CUDA_SUCCESS) {
      throw DeviceException.OutOfMemory.ofHost(
          bytes, "cuMemHostAlloc answered " + CudaError.describe(result));
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

  /** Answers why it got none, if it did not; throws when the context is lost. */
  private int ask(HostPointer address, long bytes) {
    context.enter();
    int result = cuMemHostAlloc(address, bytes, 0);
    if (CudaError.fatal(result)) {
      context.check(result, "cuMemHostAlloc");
    }
    return result;
  }

  private void release(HostMemory closed, HostPointer address) {
    open.remove(closed);
    if (!context.gone()) {
      context
          .afterwards()
          .add(() -> {
            context.enter();
            context.check(cuMemFreeHost(address), "cuMemFreeHost");
          });
    }
  }

  /** Closes all that is open. */
  void close() {
    open.forEach(HostMemory::close);
  }
}
