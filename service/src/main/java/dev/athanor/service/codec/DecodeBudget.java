package dev.athanor.service.codec;

/**
 * The memory for the tensors of a request, and the maximum size of each.
 *
 * @param limit maximum size of a tensor in bytes
 */
public record DecodeBudget(HostAllocator memory, long limit) {

  /** Returns a budget in heap memory. */
  public static DecodeBudget onHeap(long limit) {
    return new DecodeBudget(HostAllocator.HEAP, limit);
  }
}
