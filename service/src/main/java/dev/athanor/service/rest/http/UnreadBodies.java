package dev.athanor.service.rest.http;

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
 * Reads off what is left of request bodies after their answer, within limits of time, bytes and
 * number: a client that sends its whole body before it reads would find the connection reset
 * instead of the answer. Beyond the limits the connection is closed.
 */
final class UnreadBodies {

  /** How long one body is read off, unless no client may be silent so long. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** One connection in so many may wait for the rest of a body at the same time. */
  private static final int SHARE = 8;

  private static final Logger LOG = LoggerFactory.getLogger(UnreadBodies.class);

  private final IntSupplier maxConnections;
  private final AtomicInteger waiting = new AtomicInteger();
  private volatile long maxBytes = Long.MAX_VALUE;

  /**
   * @param maxConnections how many connections there may be
   */
  UnreadBodies(IntSupplier maxConnections) {
    this.maxConnections = maxConnections;
  }

  /**
   * @param bytes how much of one body is read off at most
   */
  void setMaxBytes(long bytes) {
    maxBytes = bytes;
  }

  /**
   * Reads the rest of a body.
   *
   * @param waits whether to wait for what has not arrived, if few others do
   * @return whether the body has ended, so that the connection can serve another request
   */
  boolean readOff(Request request, SocketWrapperBase<?> socket, boolean waits) {
    boolean patient = waits && waiting.incrementAndGet() <= maxConnections.getAsInt() / SHARE;
    int usual = (int) socket.getReadTimeout();
    try {
      long end = System.nanoTime() + (patient ? patience(usual) : 0);
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
      LOG.debug("The rest of a refused body did not arrive: {}", e.toString());
    } finally {
      socket.setReadTimeout(usual);
      if (waits) {
        waiting.decrementAndGet();
      }
    }
    return false;
  }

  private static long patience(int silenceMillis) {
    long silence = TimeUnit.MILLISECONDS.toNanos(silenceMillis);
    return silence > 0 ? Math.min(silence, PATIENCE.toNanos()) : PATIENCE.toNanos();
  }

  /** Takes the buffers that Tomcat hands over, and keeps none of their bytes. */
  private static final class Discarded implements ApplicationBufferHandler {
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
