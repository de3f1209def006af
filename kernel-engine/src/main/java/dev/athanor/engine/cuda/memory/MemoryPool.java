package dev.athanor.engine.cuda.memory;

import static jcuda.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY;
import static jcuda.driver.JCudaDriver.cuMemAlloc;
import static jcuda.driver.JCudaDriver.cuMemFree;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.OpenStreams;
import dev.athanor.engine.cuda.context.StreamFence;
import dev.athanor.engine.cuda.driver.DevicePointer;
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
 * A pool of device memory. It reuses blocks because an allocation by the driver takes far longer
 * than a kernel launch.
 *
 * <p>Blocks come in size classes, four to an octave, and return to their class when their buffer is
 * closed. Work enqueued before the close, on any stream, may still use the block. The pool
 * therefore parks it behind a {@link StreamFence} of every busy stream and reuses it once all of
 * them have passed. Fences of a stream without new work in between are shared; an idle stream needs
 * none.
 *
 * <p>When the driver is out of memory, the pool first waits for a parked block of the class, then
 * frees all parked blocks and allocates again.
 */
public final class MemoryPool {

  private static final long ALIGNMENT = 256;
  private static final long COARSEST_STEP = 16L << 20;

  private final Context context;
  private final OpenStreams streams;
  private final long memoryBytes;
  private final Map<Long, Deque<Parked>> parked = new HashMap<>();
  private final Set<Block> inUse = new HashSet<>();
  private long used;
  private long pooled;

  /**
   * @param streams the streams that may use a block when its buffer is closed
   * @param memoryBytes memory of the GPU, an upper bound of any allocation
   */
  public MemoryPool(Context context, OpenStreams streams, long memoryBytes) {
    this.context = context;
    this.streams = streams;
    this.memoryBytes = memoryBytes;
  }

  /** An allocation of the driver. */
  private record Block(long address, long bytes) {}

  /** A block of a closed buffer, reusable once the fences have passed. */
  private record Parked(Block block, List<StreamFence> fences) {
    boolean isReusable() {
      return fences.stream().allMatch(StreamFence::hasPassed);
    }

    void await() {
      fences.forEach(StreamFence::await);
    }
  }

  /** Rounds up to a size class: a multiple of 256 that wastes at most a quarter and 16 MiB. */
  static long sizeClass(long bytes) {
    long octave = Long.highestOneBit(Math.max(bytes - 1, 1));
    long step = Math.clamp(octave / 4, ALIGNMENT, COARSEST_STEP);
    return Math.ceilDiv(bytes, step) * step;
  }

  /**
   * Allocates a buffer.
   *
   * @throws IllegalArgumentException if {@code bytes} is less than 1
   * @throws DeviceException.OutOfMemory if neither the pool nor the driver has the memory
   */
  public synchronized CudaBuffer allocate(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("a buffer has at least 1 byte, got " + bytes);
    }
    context.enter();
    if (bytes > memoryBytes) {
      throw new DeviceException.OutOfMemory(bytes, context.freeBytes());
    }
    long size = sizeClass(bytes);
    var block = find(size, bytes);
    inUse.add(block);
    used += size;
    return new CudaBuffer(context, block.address, bytes, () -> park(block));
  }

  private Block find(long size, long requested) {
    var closed = parked.computeIfAbsent(size, _ -> new ArrayDeque<>());
    for (var each = closed.iterator(); each.hasNext(); ) {
      var candidate = each.next();
      if (candidate.isReusable()) {
        each.remove();
        pooled -= size;
        return candidate.block;
      }
    }
    var fresh = allocateBlock(size);
    if (fresh.isEmpty() && !closed.isEmpty()) {
      var oldest = closed.remove();
      oldest.await();
      pooled -= size;
      return oldest.block;
    }
    if (fresh.isEmpty() && trim()) {
      fresh = allocateBlock(size);
    }
    context.enter();
    return fresh.orElseThrow(() -> new DeviceException.OutOfMemory(requested, context.freeBytes()));
  }

  private Optional<Block> allocateBlock(long size) {
    var address = new DevicePointer();
    context.enter();
    int result = cuMemAlloc(address, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return Optional.empty();
    }
    context.check(result, "cuMemAlloc");
    return Optional.of(new Block(address.value(), size));
  }

  /** Frees the blocks of closed buffers; returns whether there were any. */
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

  /** Takes back the block of a closed buffer. */
  private synchronized void park(Block block) {
    if (!inUse.remove(block) || context.isUnusable()) {
      return; // the device is closed or lost, and its memory with it
    }
    used -= block.bytes;
    var parking = new Parked(block, streams.fences());
    parked.computeIfAbsent(block.bytes, _ -> new ArrayDeque<>()).add(parking);
    pooled += block.bytes;
  }

  public synchronized MemoryUsage usage() {
    context.enter();
    return new MemoryUsage(used, pooled, context.freeBytes());
  }

  /** Frees everything. All work must have completed. */
  public synchronized void close() {
    trim();
    inUse.forEach(this::free);
    inUse.clear();
    used = 0;
  }
}
