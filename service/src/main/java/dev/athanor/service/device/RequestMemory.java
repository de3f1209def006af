package dev.athanor.service.device;

import dev.athanor.service.codec.HostAllocator;
import java.lang.foreign.MemorySegment;

/**
 * Host memory for the tensors that come and go with one request. Whoever serves the request holds
 * it, and so does the job that reads and writes it, which may outlive the request; when the last
 * has let go, all of it is another's. What is allocated holds anything, until it is written.
 */
public sealed interface RequestMemory extends HostAllocator, AutoCloseable
    permits RequestMemory.Heap, InlineMemory.Blocks {

  /** Memory of the heap, which ends by itself. */
  RequestMemory HEAP = new Heap();

  /**
   * Allocates memory; only while whoever serves the request holds it, and by one thread at a time.
   *
   * @throws dev.athanor.service.failure.Failure.Busy with {@code out-of-host-memory} when requests
   *     have all that there is for them
   * @throws dev.athanor.service.failure.Failure.Refused with {@code too-large} when it would be
   *     more even if this were the only one
   */
  @Override
  MemorySegment allocate(long bytes, long alignment);

  /** One more holds it, and closes it too. */
  RequestMemory hold();

  /** Lets go; nothing that was allocated may be used any more by whom it was held. */
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
