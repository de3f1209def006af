package dev.athanor.engine.cuda.stream;

import static jcuda.driver.JCudaDriver.cuMemFreeHost;
import static jcuda.driver.JCudaDriver.cuMemHostAlloc;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoHAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoDAsync;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.StreamFence;
import dev.athanor.engine.cuda.driver.DevicePointer;
import dev.athanor.engine.cuda.driver.HostPointer;
import dev.athanor.engine.cuda.driver.StreamHandle;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A stream's ring of pinned staging buffers for copies from and to Java arrays: the garbage
 * collector moves arrays, so the driver cannot access them.
 */
final class Staging {

  private static final int SLOTS = 8;
  private static final long SLOT_BYTES = 512 << 10;

  private final Context context;
  private final StreamHandle stream;
  private final MemorySegment memory;
  private final @Nullable StreamFence[] fences = new @Nullable StreamFence[SLOTS];
  private int next;

  @SuppressWarnings("restricted") // the driver allocated that many bytes at the address
  Staging(Context context, StreamHandle stream) {
    this.context = context;
    this.stream = stream;
    var address = new HostPointer();
    context.enter();
    context.check(cuMemHostAlloc(address, SLOTS * SLOT_BYTES, 0), "cuMemHostAlloc");
    memory = MemorySegment.ofAddress(address.value()).reinterpret(SLOTS * SLOT_BYTES);
  }

  /** Copies to the device. The source may change as soon as this returns. */
  void upload(MemorySegment source, long target) {
    for (long at = 0; at < source.byteSize(); at += SLOT_BYTES) {
      long bytes = Math.min(SLOT_BYTES, source.byteSize() - at);
      var slot = awaitSlot(next);
      MemorySegment.copy(source, at, slot, 0, bytes);
      context.enter();
      context.check(
          cuMemcpyHtoDAsync(new DevicePointer(target + at), HostPointer.of(slot), bytes, stream),
          "cuMemcpyHtoDAsync",
          stream);
      fenceNext();
    }
  }

  /** Copies from the device and waits for the data. */
  void download(long source, MemorySegment target) {
    long enqueued = 0;
    int first = next;
    for (long done = 0; done < target.byteSize(); done += SLOT_BYTES) {
      while (enqueued < target.byteSize() && enqueued < done + SLOTS * SLOT_BYTES) {
        var slot = awaitSlot(next);
        long bytes = Math.min(SLOT_BYTES, target.byteSize() - enqueued);
        context.enter();
        context.check(
            cuMemcpyDtoHAsync(
                HostPointer.of(slot), new DevicePointer(source + enqueued), bytes, stream),
            "cuMemcpyDtoHAsync",
            stream);
        fenceNext();
        enqueued += SLOT_BYTES;
      }
      var slot = awaitSlot(first);
      MemorySegment.copy(slot, 0, target, done, Math.min(SLOT_BYTES, target.byteSize() - done));
      first = (first + 1) % SLOTS;
    }
  }

  /** Returns a slot once the copy that used it last has completed. */
  private MemorySegment awaitSlot(int slot) {
    var fence = fences[slot];
    if (fence != null) {
      fence.await(stream);
      fences[slot] = null;
    }
    return memory.asSlice(slot * SLOT_BYTES, SLOT_BYTES);
  }

  /** Puts a fence behind the copy that uses the next slot. */
  private void fenceNext() {
    fences[next] = new StreamFence(context, stream);
    next = (next + 1) % SLOTS;
  }

  /** Frees the memory. All work of the stream must have completed. */
  void close() {
    for (var fence : fences) {
      if (fence != null) {
        fence.close();
      }
    }
    context.enter();
    context.check(cuMemFreeHost(HostPointer.of(memory)), "cuMemFreeHost");
  }
}
