package dev.athanor.engine.cuda;

import static jcuda.driver.JCudaDriver.cuMemFreeHost;
import static jcuda.driver.JCudaDriver.cuMemHostAlloc;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoHAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoDAsync;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A stream's ring of pinned host memory, through which the memory of Java arrays goes: the
 * collector moves it, so that the driver cannot read or write it itself.
 */
final class Staging {

  private static final int SLOTS = 8;
  private static final long SLOT_BYTES = 512 << 10;

  private final Context context;
  private final CudaStream stream;
  private final MemorySegment memory;
  private final @Nullable StreamFence[] busy = new @Nullable StreamFence[SLOTS];
  private int next;

  @SuppressWarnings("restricted") // the driver says how much memory lies at the address
  Staging(Context context, CudaStream stream) {
    this.context = context;
    this.stream = stream;
    var address = new HostPointer();
    context.enter();
    context.check(cuMemHostAlloc(address, SLOTS * SLOT_BYTES, 0), "cuMemHostAlloc");
    memory = MemorySegment.ofAddress(address.value()).reinterpret(SLOTS * SLOT_BYTES);
  }

  /** Copies to the device; the source may change as soon as this returns. */
  void upload(MemorySegment source, long target) {
    for (long at = 0; at < source.byteSize(); at += SLOT_BYTES) {
      long bytes = Math.min(SLOT_BYTES, source.byteSize() - at);
      var slot = take();
      MemorySegment.copy(source, at, slot, 0, bytes);
      context.enter();
      context.check(
          cuMemcpyHtoDAsync(
              new DevicePointer(target + at), HostPointer.of(slot), bytes, stream.handle()),
          "cuMemcpyHtoDAsync",
          stream);
      give();
    }
  }

  /** Copies from the device and waits for it. */
  void download(long source, MemorySegment target) {
    long enqueued = 0;
    int first = next;
    for (long done = 0; done < target.byteSize(); done += SLOT_BYTES) {
      while (enqueued < target.byteSize() && enqueued < done + SLOTS * SLOT_BYTES) {
        var slot = take();
        long bytes = Math.min(SLOT_BYTES, target.byteSize() - enqueued);
        context.enter();
        context.check(
            cuMemcpyDtoHAsync(
                HostPointer.of(slot), new DevicePointer(source + enqueued), bytes, stream.handle()),
            "cuMemcpyDtoHAsync",
            stream);
        give();
        enqueued += SLOT_BYTES;
      }
      var slot = ready(first);
      MemorySegment.copy(slot, 0, target, done, Math.min(SLOT_BYTES, target.byteSize() - done));
      first = (first + 1) % SLOTS;
    }
  }

  /** The next slot, once the copy that used it last is done. */
  private MemorySegment take() {
    return ready(next);
  }

  private MemorySegment ready(int slot) {
    var fence = busy[slot];
    if (fence != null) {
      fence.await(stream);
      busy[slot] = null;
    }
    return memory.asSlice(slot * SLOT_BYTES, SLOT_BYTES);
  }

  /** Marks the slot that was taken as busy until the stream gets here. */
  private void give() {
    busy[next] = new StreamFence(context, stream.handle());
    next = (next + 1) % SLOTS;
  }

  /** Frees the memory; all work of the stream must be done. */
  void close() {
    for (var fence : busy) {
      if (fence != null) {
        fence.close();
      }
    }
    context.enter();
    context.check(cuMemFreeHost(HostPointer.of(memory)), "cuMemFreeHost");
  }
}
