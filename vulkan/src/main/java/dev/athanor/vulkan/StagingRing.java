package dev.athanor.vulkan;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A stream's ring of host memory that the device accesses: arguments of kernels, and data on its
 * way. A slot is reused after the batch that uses it.
 */
final class StagingRing {

  static final long BYTES = 8L << 20;

  /** Maximum size of a slot. */
  static final long MAX_SLOT_BYTES = BYTES / 4;

  private static final long ALIGNMENT = 64;

  private final MemoryRegion region;
  private final MemorySegment memory;
  private final Deque<Use> uses = new ArrayDeque<>();

  /** Positions of the next slot and of the oldest slot in use, which never wrap around. */
  private long head;

  private long tail;

  /** Slots up to a position, used by a batch. */
  private record Use(Timeline.Point batch, long end) {}

  StagingRing(LogicalDevice device) {
    region = MemoryRegion.require(device, BYTES);
    memory = region.requireSegment();
  }

  /**
   * Takes a slot for a batch; returns its offset, or -1 if all slots belong to pending batches.
   *
   * @param bytes at most {@link #MAX_SLOT_BYTES}
   */
  long take(long bytes, Timeline.Point batch) {
    while (!uses.isEmpty() && uses.element().batch.hasPassed()) {
      tail = uses.remove().end;
    }
    long start = head;
    if (start % BYTES + bytes > BYTES) {
      start = Math.ceilDiv(start, BYTES) * BYTES;
    }
    long end = Math.ceilDiv(start + bytes, ALIGNMENT) * ALIGNMENT;
    if (end - tail > BYTES) {
      return -1;
    }
    head = end;
    if (!uses.isEmpty() && uses.getLast().batch.equals(batch)) {
      uses.removeLast();
    }
    uses.add(new Use(batch, end));
    return start % BYTES;
  }

  /** Waits for the oldest batch that uses a slot. */
  void awaitOldest() {
    uses.element().batch.await();
  }

  MemorySegment segment(long offset, long bytes) {
    return memory.asSlice(offset, bytes);
  }

  long address(long offset) {
    return region.address() + offset;
  }

  MemoryRegion.Range range(long offset, long bytes) {
    return region.range(offset, bytes);
  }

  void free() {
    region.free();
  }
}
