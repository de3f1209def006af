package dev.athanor.service.codec;

/**
 * Where the tensors of a request may lie, and how large each may be.
 *
 * @param limit how many bytes a tensor may have
 */
public record DecodeBudget(HostAllocator memory, long limit) {

  /** On the heap. */
  public static DecodeBudget onHeap(long limit) {
    return new DecodeBudget(HostAllocator.HEAP, limit);
  }
}
