package dev.athanor.service.rest.http;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.apache.tomcat.util.net.SocketBufferHandler;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a connection: small ones, and large ones for the duration of a request that may
 * carry tensors. An idle connection, or one whose caller is unknown, holds only the small ones.
 */
final class SocketBuffers extends SocketBufferHandler {

  /** With Tomcat's own 8 KiB, each 8 KiB of a tensor is a system call. */
  private static final int LARGE = 1 << 16;

  /** Large buffers that no request uses: 8 MiB at most. */
  static final class Pool {
    private static final int MOST = 64;

    private final BlockingQueue<SocketBufferHandler> idle = new ArrayBlockingQueue<>(MOST);

    private SocketBufferHandler take() {
      var pooled = idle.poll();
      return pooled == null ? new SocketBufferHandler(LARGE, LARGE, true) : pooled;
    }

    private void giveBack(SocketBufferHandler large) {
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

  private SocketBufferHandler now() {
    var taken = large;
    return taken == null ? small : taken;
  }

  /** Changes to large buffers, unless part of an answer lies in the small ones. */
  void enlarge() {
    if (large == null && small.isWriteBufferEmpty()) {
      var taken = pool.take();
      move(small, taken);
      large = taken;
    }
  }

  /** Gives the large buffers back, unless they hold bytes that the small ones have no room for. */
  void shrink() {
    var taken = large;
    if (taken != null && taken.isWriteBufferEmpty()) {
      taken.configureReadBufferForRead();
      if (taken.getReadBuffer().remaining() <= small.getReadBuffer().capacity()) {
        move(taken, small);
        large = null;
        pool.giveBack(taken);
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
   * Called when a connection is closed, too, before the small buffers go to another one. A thread
   * may still use the large ones then, so they are left to the garbage collector.
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
    now().expand(newSize);
  }

  @Override
  public void configureReadBufferForWrite() {
    now().configureReadBufferForWrite();
  }

  @Override
  public void configureReadBufferForRead() {
    now().configureReadBufferForRead();
  }

  @Override
  public ByteBuffer getReadBuffer() {
    return now().getReadBuffer();
  }

  @Override
  public boolean isReadBufferEmpty() {
    return now().isReadBufferEmpty();
  }

  @Override
  public void unReadReadBuffer(ByteBuffer returnedData) {
    now().unReadReadBuffer(returnedData);
  }

  @Override
  public void configureWriteBufferForWrite() {
    now().configureWriteBufferForWrite();
  }

  @Override
  public void configureWriteBufferForRead() {
    now().configureWriteBufferForRead();
  }

  @Override
  public boolean isWriteBufferWritable() {
    return now().isWriteBufferWritable();
  }

  @Override
  public ByteBuffer getWriteBuffer() {
    return now().getWriteBuffer();
  }

  @Override
  public boolean isWriteBufferEmpty() {
    return now().isWriteBufferEmpty();
  }
}
