package dev.athanor.service.rest;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * Tells whether the client of the request at hand has hung up, which servlets do not learn before
 * they answer. A client that closes its half of the connection counts as gone. Connections have
 * buffers of a size for tensors, and are closed when their headers trickle: the container's timeout
 * begins anew with every byte.
 */
@Component
class Connections implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

  private static final ThreadLocal<SocketWrapperBase<?>> CURRENT = new ThreadLocal<>();

  private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

  private static final long LONGEST_SILENCE = 60_000;

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.setProtocol(Protocol.class.getName());
  }

  /**
   * Whether the client of this thread's request has gone; to be asked once the body was read, by
   * one thread at a time, until the answer is begun.
   */
  static BooleanSupplier clientHasGone() {
    var socket = CURRENT.get();
    return socket == null ? () -> false : () -> hasGone(socket);
  }

  /** How long the client of this thread's request may send nothing. */
  static Duration silence() {
    var socket = CURRENT.get();
    long millis = socket == null ? 0 : socket.getReadTimeout();
    return Duration.ofMillis(millis > 0 ? millis : LONGEST_SILENCE);
  }

  /**
   * Waits no more for this thread's client. The container reads what is left of a body, so that the
   * client gets to read the answer, and closes the connection where that does not come.
   */
  static void waitNoMore() {
    var socket = CURRENT.get();
    if (socket != null) {
      socket.setReadTimeout(1);
    }
  }

  /**
   * Reads what is left of a request's body after its answer, for as long as a client may be silent:
   * who sends all before they read would find their connection broken instead of an answer. Without
   * this the container reads little more, and that at whatever pace it comes.
   */
  static void readRest(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var in = request.getInputStream();
    var socket = CURRENT.get();
    // who waits for a word to go on has not begun, and is not to be told to
    if (in.isFinished()
        || socket == null
        || socket.getReadTimeout() == 1
        || request.getHeader("Expect") != null) {
      return;
    }
    response.flushBuffer();
    long usual = socket.getReadTimeout();
    long patience = silence().toNanos();
    long began = System.nanoTime();
    boolean isRead = false;
    try {
      var bytes = new byte[1 << 13];
      long left = patience;
      while (!isRead && left > 0) {
        socket.setReadTimeout(Math.max(TimeUnit.NANOSECONDS.toMillis(left), 1));
        isRead = in.read(bytes) < 0;
        left = patience - (System.nanoTime() - began);
      }
    } catch (IOException e) {
      LOG.debug("the rest of a body that is of no use does not come", e);
    } finally {
      if (isRead) {
        socket.setReadTimeout(usual);
      } else {
        waitNoMore();
      }
    }
  }

  private static boolean hasGone(SocketWrapperBase<?> socket) {
    if (socket.isClosed()) {
      return true;
    }
    try {
      var next = ByteBuffer.allocate(1);
      int count = socket.read(false, next);
      if (count > 0) {
        socket.unRead(next.flip()); // of the next request, which may come early
      }
      return count < 0;
    } catch (IOException e) {
      return true;
    }
  }

  /** HTTP/1.1 whose processors say on which connection they are. Tomcat makes one by its name. */
  public static final class Protocol extends Http11NioProtocol {
    /** Tomcat's own 8 KiB make a system call for each 8 KiB of a tensor. */
    private static final int BUFFER = 1 << 16;

    public Protocol() {
      var sockets = getEndpoint().getSocketProperties();
      sockets.setAppReadBufSize(BUFFER);
      sockets.setAppWriteBufSize(BUFFER);
      sockets.setDirectBuffer(true); // what lies in the heap is copied once more
      // whoever asks before sending a body is told to when somebody reads it
      setContinueResponseTiming("onRead");
    }

    @Override
    protected Processor createProcessor() {
      return new ConnectedProcessor(this);
    }
  }

  private static final class ConnectedProcessor extends Http11Processor {
    private final long longest;

    /** The connection whose headers have come in part, and since when. Processors are reused. */
    private @Nullable SocketWrapperBase<?> partial;

    private long since;

    ConnectedProcessor(AbstractHttp11Protocol<?> protocol) {
      super(protocol, protocol.getAdapter());
      longest = TimeUnit.MILLISECONDS.toNanos(protocol.getConnectionTimeout());
    }

    @Override
    public SocketState service(SocketWrapperBase<?> socket) throws IOException {
      boolean more = socket.equals(partial);
      if (more && longest > 0 && System.nanoTime() - since > longest) {
        partial = null;
        return SocketState.CLOSED;
      }
      CURRENT.set(socket);
      try {
        var state = super.service(socket);
        partial = state == SocketState.LONG && !isAsync() ? socket : null;
        since = more ? since : System.nanoTime();
        return state;
      } finally {
        CURRENT.remove();
      }
    }
  }
}
