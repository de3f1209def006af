package dev.athanor.engine.cuda.memory;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.device.Buffer;
import java.util.concurrent.atomic.AtomicBoolean;

/** A buffer in a GPU's memory: a block of the {@link MemoryPool}, or the start of one. */
public final class CudaBuffer implements Buffer {

  private final Context context;
  private final long address;
  private final long bytes;
  private final Runnable onClose;
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * @param onClose returns the block to its pool; called once
   */
  CudaBuffer(Context context, long address, long bytes, Runnable onClose) {
    this.context = context;
    this.address = address;
    this.bytes = bytes;
    this.onClose = onClose;
  }

  @Override
  public long address() {
    return address;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      onClose.run();
    }
  }

  /**
   * Returns the device address of a range of a buffer.
   *
   * @throws IllegalArgumentException if the buffer belongs to another device or does not contain
   *     the range
   * @throws IllegalStateException if the buffer is closed
   */
  public static long range(Context context, Buffer buffer, long offset, long bytes) {
    if (!(buffer instanceof CudaBuffer own) || own.context != context) {
      throw new IllegalArgumentException("the buffer does not belong to " + context.id());
    }
    if (own.closed.get()) {
      throw new IllegalStateException("the buffer of %d bytes is closed".formatted(own.bytes));
    }
    own.requireRange(offset, bytes);
    return own.address + offset;
  }
}
