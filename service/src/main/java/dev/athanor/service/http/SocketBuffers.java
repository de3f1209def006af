package dev.athanor.service.http;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.apache.tomcat.util.net.SocketBufferHandler;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a connection: small by default, large while it serves a request that may carry
 * tensors. Idle and unauthenticated connections hold only small buffers.
 */
final class SocketBuffers extends SocketBufferHandler {

  /** Size of a large buffer in bytes. Tomcat's 8 KiB would need a system call per 8 KiB. */
  private static final int LARGE = 1 << 16;

  /** Pool of unused large buffers, at most 8 MiB. */
  static final class Pool {
    private static final int CAPACITY = 64;

    private final BlockingQueue<SocketBufferHandler> idle = new ArrayBlockingQueue<>(CAPACITY);

    private SocketBufferHandler take() {
      var pooled = idle.poll();
      return pooled == null ? new SocketBufferHandler(LARGE, LARGE, true) : pooled;
    }

    private void release(SocketBufferHandler large) {
      large.reset();
      if (!idle.offer(large)) {
        large.free();
      }
    }
  }

  private final SocketBufferHandler small;
  private final Pool pool;
  private volatile @Nullable SocketBufferHandler large;

  SocketBuffers(SocketBufferHandler small, Pool pool) {
    super(0, 0, false);
    this.small = small;
    this.pool = pool;
  }

  private SocketBufferHandler current() {
    var taken = large;
    return taken == null ? small : taken;
  }

  /** Switches to large buffers, unless the small ones hold response data. */
  void enlarge() {
    if (large == null && small.isWriteBufferEmpty()) {
      var taken = pool.take();
      move(small, taken);
      large = taken;
    }
  }

  /**
   * Switches back to small buffers, unless their capacity does not suffice for the buffered data.
   */
  void shrink() {
    var taken = large;
    if (taken != null && taken.isWriteBufferEmpty()) {
      taken.configureReadBufferForRead();
      if (taken.getReadBuffer().remaining() <= small.getReadBuffer().capacity()) {
        move(taken, small);
        large = null;
        pool.release(taken);
      }
    }
  }

  private static void move(SocketBufferHandler from, SocketBufferHandler to) {
    to.reset();
    from.configureReadBufferForRead();
    to.unReadReadBuffer(from.getReadBuffer());
    from.reset();
  }

  /**
   * Resets the buffers. Also called when a connection closes, before another one reuses the small
   * buffers. A thread may still use the large ones, so they are left to the garbage collector.
   */
  @Override
  public void reset() {
    large = null;
    small.reset();
  }

  @Override
  public void free() {
    reset();
    small.free();
  }

  @Override
  public void expand(int newSize) {
    current().expand(newSize);
  }

  @Override
  public void configureReadBufferForWrite() {
    current().configureReadBufferForWrite();
  }

  @Override
  public void configureReadBufferForRead() {
    current().configureReadBufferForRead();
  }

  @Override
  public ByteBuffer getReadBuffer() {
    return current().getReadBuffer();
  }

  @Override
  public boolean isReadBufferEmpty() {
    return current().isReadBufferEmpty();
  }

  @Override
  public void unReadReadBuffer(ByteBuffer returnedData) {
    current().unReadReadBuffer(returnedData);
  }

  @Override
  public void configureWriteBufferForWrite() {
    current().configureWriteBufferForWrite();
  }

  @Override
  public void configureWriteBufferForRead() {
    current().configureWriteBufferForRead();
  }

  @Override
  public boolean isWriteBufferWritable() {
    return current().isWriteBufferWritable();
  }

  @Override
  public ByteBuffer getWriteBuffer() {
    return current().getWriteBuffer();
  }

  @Override
  public boolean isWriteBufferEmpty() {
    return current().isWriteBufferEmpty();
  }
}
