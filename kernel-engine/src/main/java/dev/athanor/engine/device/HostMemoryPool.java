package dev.athanor.engine.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;

/**
 * A pool of host memory. It keeps released blocks for later requests of the same size, because
 * allocation is slow. When the pool is full, it closes the least recently used blocks. Thread-safe;
 * no thread waits while another allocates.
 */
public final class HostMemoryPool implements AutoCloseable {

  /** Sizes are rounded up to a multiple of this. */
  private static final long STEP = 256;

  private final LongFunction<HostMemory> allocator;
  private final Map<Long, Deque<HostMemory>> idle = new LinkedHashMap<>(16, 0.75f, true);
  private long maxBytes;
  private long keptBytes;

  /**
   * Creates an empty pool.
   *
   * @param maxBytes maximum number of bytes to keep
   * @param allocator allocates a number of bytes if the pool has no block
   */
  public HostMemoryPool(long maxBytes, LongFunction<HostMemory> allocator) {
    this.maxBytes = maxBytes;
    this.allocator = allocator;
  }

  /**
   * Returns a block of at least a number of bytes. Its contents are undefined.
   *
   * @throws DeviceException.OutOfMemory if the allocator fails
   */
  public HostMemory acquire(long bytes) {
    long size = Math.ceilDiv(bytes, STEP) * STEP;
    synchronized (this) {
      var known = idle.get(size);
      if (known != null) {
        var block = known.pop();
        if (known.isEmpty()) {
          idle.remove(size);
        }
        keptBytes -= size;
        return block;
      }
    }
    return allocator.apply(size);
  }

  /** Returns a block to the pool, which keeps or closes it. */
  public void release(HostMemory block) {
    keep(block).forEach(HostMemory::close);
  }

  /** Keeps a block; returns the blocks to close instead. */
  private synchronized List<HostMemory> keep(HostMemory block) {
    long size = block.segment().byteSize();
    if (size > maxBytes) {
      return List.of(block);
    }
    idle.computeIfAbsent(size, _ -> new ArrayDeque<>()).push(block);
    keptBytes += size;
    var surplus = new ArrayList<HostMemory>();
    var sizes = idle.values().iterator();
    while (keptBytes > maxBytes) {
      var blocks = sizes.next();
      while (keptBytes > maxBytes && !blocks.isEmpty()) {
        var oldest = blocks.removeLast();
        keptBytes -= oldest.segment().byteSize();
        surplus.add(oldest);
      }
      if (blocks.isEmpty()) {
        sizes.remove();
      }
    }
    return surplus;
  }

  /** Closes all kept blocks, and blocks released later. */
  @Override
  public synchronized void close() {
    idle.values().forEach(blocks -> blocks.forEach(HostMemory::close));
    idle.clear();
    keptBytes = 0;
    maxBytes = 0;
  }
}
