package dev.athanor.engine.cuda;

import dev.athanor.engine.device.Buffer;
import java.util.concurrent.atomic.AtomicBoolean;

/** A block of the pool, or the beginning of one. */
final class CudaBuffer implements Buffer {

  private final MemoryPool pool;
  private final Context context;
  private final MemoryPool.Block block;
  private final long bytes;
  private final AtomicBoolean closed = new AtomicBoolean();

  CudaBuffer(MemoryPool pool, Context context, MemoryPool.Block block, long bytes) {
    this.pool = pool;
    this.context = context;
    this.block = block;
    this.bytes = bytes;
  }

  @Override
  public long address() {
    return block.address();
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      pool.park(block);
    }
  }

  /**
   * The device address of a range of a buffer.
   *
   * @throws IllegalArgumentException when the range does not lie in it, or the buffer belongs to
   *     another device
   * @throws IllegalStateException when it is closed
   */
  static long range(Context context, Buffer buffer, long offset, long bytes) {
    if (!(buffer instanceof CudaBuffer ours) || ours.context != context) {
      throw new IllegalArgumentException("the buffer is not one of " + context.id());
    }
    if (ours.closed.get()) {
      throw new IllegalStateException("a buffer of %d bytes is closed".formatted(ours.bytes));
    }
    ours.requireRange(offset, bytes);
    return ours.address() + offset;
  }
}
