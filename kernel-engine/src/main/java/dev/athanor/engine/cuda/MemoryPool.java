package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY;
import static jcuda.driver.JCudaDriver.cuMemAlloc;
import static jcuda.driver.JCudaDriver.cuMemFree;

import dev.athanor.engine.device.Device.MemoryUsage;
import dev.athanor.engine.device.DeviceException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Device memory, kept for reuse, as the driver takes far longer to allocate than a kernel to start.
 *
 * <p>Blocks come in size classes, four to an octave, and go back to their class when their buffer
 * is closed. Work enqueued before may still use such a block, on whichever stream: so it waits
 * behind a {@link StreamFence} of every stream that has work, and is handed out once all have
 * passed. A stream with nothing new since its last fence shares that one, and an idle stream needs
 * none.
 *
 * <p>When the driver has no memory left, the pool first waits for a closed block of the class, then
 * gives all closed blocks back to the driver and asks once more.
 */
final class MemoryPool {

  private static final long ALIGNMENT = 256;
  private static final long COARSEST_STEP = 16L << 20;

  private final Context context;
  private final long memoryBytes;
  private final Map<Long, Deque<Parked>> parked = new HashMap<>();
  private final Set<Block> inUse = new HashSet<>();
  private long used;
  private long pooled;

  /**
   * @param memoryBytes what the GPU has; the driver is not asked for more
   */
  MemoryPool(Context context, long memoryBytes) {
    this.context = context;
    this.memoryBytes = memoryBytes;
  }

  /** Memory as the driver gave it. */
  record Block(long address, long bytes) {}

  /** A block of a closed buffer, free once the fences have passed. */
  private record Parked(Block block, List<StreamFence> fences) {
    boolean ready() {
      return fences.stream().allMatch(StreamFence::passed);
    }

    void await() {
      fences.forEach(StreamFence::await);
    }
  }

  /** Rounds up to a class: a multiple of 256 that wastes at most a quarter, and 16 MiB. */
  static long sizeClass(long bytes) {
    long octave = Long.highestOneBit(Math.max(bytes - 1, 1));
    long step = Math.clamp(octave / 4, ALIGNMENT, COARSEST_STEP);
    return Math.ceilDiv(bytes, step) * step;
  }

  synchronized CudaBuffer allocate(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("a buffer has at least 1 byte, got " + bytes);
    }
    context.enter();
    if (bytes > memoryBytes) {
      throw new DeviceException.OutOfMemory(bytes, context.free());
    }
    long size = sizeClass(bytes);
    var block = find(size, bytes);
    inUse.add(block);
    used += size;
    return new CudaBuffer(this, context, block, bytes);
  }

  private Block find(long size, long requested) {
    var closed = parked.computeIfAbsent(size, _ -> new ArrayDeque<>());
    for (var each = closed.iterator(); each.hasNext(); ) {
      var candidate = each.next();
      if (candidate.ready()) {
        each.remove();
        pooled -= size;
        return candidate.block;
      }
    }
    var fresh = ask(size);
    if (fresh.isEmpty() && !closed.isEmpty()) {
      var oldest = closed.remove();
      oldest.await();
      pooled -= size;
      return oldest.block;
    }
    if (fresh.isEmpty() && trim()) {
      fresh = ask(size);
    }
    context.enter();
    return fresh.orElseThrow(() -> new DeviceException.OutOfMemory(requested, context.free()));
  }

  private Optional<Block> ask(long size) {
    var address = new DevicePointer();
    context.enter();
    int result = cuMemAlloc(address, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return Optional.empty();
    }
    context.check(result, "cuMemAlloc");
    return Optional.of(new Block(address.value(), size));
  }

  /** Gives the blocks of closed buffers back to the driver; false when there are none. */
  private boolean trim() {
    var all = parked.values().stream().flatMap(Deque::stream).toList();
    parked.values().forEach(Deque::clear);
    pooled = 0;
    for (var each : all) {
      each.await();
      free(each.block);
    }
    return !all.isEmpty();
  }

  private void free(Block block) {
    context.enter();
    context.check(cuMemFree(new DevicePointer(block.address)), "cuMemFree");
  }

  /** Takes the block of a buffer that was just closed. */
  synchronized void park(Block block) {
    if (!inUse.remove(block) || context.gone()) {
      return; // freed with the device, or lost with it
    }
    used -= block.bytes;
    var parking = new Parked(block, context.fences());
    parked.computeIfAbsent(block.bytes, _ -> new ArrayDeque<>()).add(parking);
    pooled += block.bytes;
  }

  synchronized MemoryUsage usage() {
    context.enter();
    return new MemoryUsage(used, pooled, context.free());
  }

  /** Frees everything; all work must be done. */
  synchronized void close() {
    trim();
    inUse.forEach(this::free);
    inUse.clear();
    used = 0;
  }
}
