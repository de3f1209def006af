package dev.athanor.service.codec;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/** Allocates host memory for tensors of clients. The memory is not initialized. */
public interface HostAllocator extends SegmentAllocator {

  /** Allocates heap arrays. */
  HostAllocator HEAP = (bytes, _) -> MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]);

  /** Releases an allocation early, before the allocator closes. */
  default void release(MemorySegment unused) {}
}
