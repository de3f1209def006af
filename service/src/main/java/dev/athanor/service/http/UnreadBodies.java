package dev.athanor.service.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.apache.coyote.Request;
import org.apache.tomcat.util.net.ApplicationBufferHandler;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Discards the rest of request bodies after the response, within limits on time, bytes and
 * concurrency. Otherwise, a client that sends its whole body before it reads would see a connection
 * reset instead of the response. Beyond the limits, the connection is closed.
 */
final class UnreadBodies {

  /** The maximum time to discard one body is the read timeout divided by this. */
  private static final int READ_TIMEOUT_SHARE = 4;

  /** Maximum time to discard one body if the read timeout is unlimited. */
  private static final Duration DEFAULT_DISCARD_TIME = Duration.ofSeconds(5);

  /** At most one in this many connections may wait for the rest of a body concurrently. */
  private static final int SHARE = 8;

  private static final Logger LOG = LoggerFactory.getLogger(UnreadBodies.class);

  private final IntSupplier maxConnections;
  private final AtomicInteger waiting = new AtomicInteger();
  private volatile long maxBytes = Long.MAX_VALUE;

  /**
   * @param maxConnections maximum number of connections
   */
  UnreadBodies(IntSupplier maxConnections) {
    this.maxConnections = maxConnections;
  }

  /**
   * @param bytes maximum number of bytes to discard per body
   */
  void setMaxBytes(long bytes) {
    maxBytes = bytes;
  }

  /**
   * Discards the rest of a body.
   *
   * @param waits whether to wait for data that has not arrived, if few other connections do
   * @return whether the body has ended, so that the connection can be reused
   */
  boolean discard(Request request, SocketWrapperBase<?> socket, boolean waits) {
    boolean mayWait = waits && waiting.incrementAndGet() <= maxConnections.getAsInt() / SHARE;
    int usual = (int) socket.getReadTimeout();
    try {
      long end = System.nanoTime() + (mayWait ? waitNanos(usual) : 0);
      var discarded = new Discarded();
      long left = maxBytes;
      while (left > 0) {
        socket.setReadTimeout(Math.max(TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()), 1));
        int count = request.doRead(discarded);
        if (count < 0) {
          return true;
        }
        left -= count;
        if (System.nanoTime() > end) {
          break;
        }
      }
    } catch (IOException e) {
      LOG.debug("Discarding an unread body failed: {}", e.toString());
    } finally {
      socket.setReadTimeout(usual);
      if (waits) {
        waiting.decrementAndGet();
      }
    }
    return false;
  }

  private static long waitNanos(int readTimeoutMillis) {
    return readTimeoutMillis > 0
        ? TimeUnit.MILLISECONDS.toNanos(readTimeoutMillis) / READ_TIMEOUT_SHARE
        : DEFAULT_DISCARD_TIME.toNanos();
  }

  /** Receives buffers from Tomcat and ignores their contents. */
  static final class Discarded implements ApplicationBufferHandler {
    private @Nullable ByteBuffer buffer;

    @Override
    public void setByteBuffer(ByteBuffer buffer) {
      this.buffer = buffer;
    }

    @Override
    public @Nullable ByteBuffer getByteBuffer() {
      return buffer;
    }

    @Override
    public void expand(int size) {}
  }
}
