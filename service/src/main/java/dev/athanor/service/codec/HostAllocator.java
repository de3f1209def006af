package dev.athanor.service.codec;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/** Allocates memory for tensors that come from clients. It holds anything until it is written. */
public interface HostAllocator extends SegmentAllocator {

  /** Allocates arrays. */
  HostAllocator HEAP = (bytes, _) -> MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]);

  /**
   * Says that something allocated is of no use any more, so that others may have it at once and not
   * only at the end.
   */
  default void giveBack(MemorySegment unused) {}
}
