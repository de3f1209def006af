package dev.athanor.service.device;

import dev.athanor.service.codec.HostAllocator;
import java.lang.foreign.MemorySegment;

/**
 * Host memory for the inline tensors of one request. It is reference-counted: the request handler
 * holds it, and so does the job, which may outlive the request. It is freed when the last reference
 * is closed. Allocated memory is not initialized.
 */
public sealed interface RequestMemory extends HostAllocator, AutoCloseable
    permits RequestMemory.Heap, InlineMemory.Blocks {

  /** Heap memory, freed by the garbage collector. */
  RequestMemory HEAP = new Heap();

  /**
   * Allocates memory. Only the request handler may call this, from one thread at a time.
   *
   * @throws dev.athanor.service.failure.Failure.Busy with {@code out-of-host-memory} if other
   *     requests use too much memory
   * @throws dev.athanor.service.failure.Failure.Refused with {@code too-large} if this request
   *     alone exceeds the limit
   */
  @Override
  MemorySegment allocate(long bytes, long alignment);

  /** Adds a reference, which must also be closed. */
  RequestMemory hold();

  /** Drops a reference; its holder must no longer use allocated memory. */
  @Override
  void close();

  /** See {@link #HEAP}. */
  final class Heap implements RequestMemory {
    private Heap() {}

    @Override
    public MemorySegment allocate(long bytes, long alignment) {
      return HostAllocator.HEAP.allocate(bytes, alignment);
    }

    @Override
    public RequestMemory hold() {
      return this;
    }

    @Override
    public void close() {}
  }
}
