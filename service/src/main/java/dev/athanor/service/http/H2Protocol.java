package dev.athanor.service.http;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.WebConnection;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.coyote.Adapter;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.coyote.http11.upgrade.InternalHttpUpgradeHandler;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SSLSupport;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * HTTP/2 beside {@link HttpProtocol}, with the same timeouts: negotiated over TLS, and otherwise
 * with prior knowledge.
 */
final class H2Protocol extends Http2Protocol {

  /**
   * Concurrent requests per connection. Each may hold 136 KiB of heap before its caller is
   * authenticated, and {@link dev.athanor.service.security.ConnectionLimit} reserves 1 MiB per
   * connection.
   */
  private static final int STREAMS = 4;

  private static final Logger LOG = LoggerFactory.getLogger(H2Protocol.class);

  private final HttpProtocol http;

  H2Protocol(HttpProtocol http) {
    this.http = http;
    setMaxConcurrentStreams(STREAMS);
    setMaxConcurrentStreamExecution(STREAMS);
  }

  /** Ignores {@code Upgrade: h2c}, for which Tomcat would buffer the body. RFC 9113 removed it. */
  @Override
  public boolean accept(Request request) {
    return false;
  }

  @Override
  public long getReadTimeout() {
    return http.bodyTimeout();
  }

  @Override
  public long getWriteTimeout() {
    return http.bodyTimeout();
  }

  @Override
  public long getStreamReadTimeout() {
    return http.bodyTimeout();
  }

  @Override
  public long getStreamWriteTimeout() {
    return http.bodyTimeout();
  }

  @Override
  public long getKeepAliveTimeout() {
    return http.getKeepAliveTimeout();
  }

  @Override
  public InternalHttpUpgradeHandler getInternalUpgradeHandler(
      SocketWrapperBase<?> socket, Adapter servlets, @Nullable Request upgraded) {
    return new Connection(socket, servlets);
  }

  /** Passes everything on to Tomcat's handler, and closes connections that make no requests. */
  private final class Connection implements InternalHttpUpgradeHandler {
    private final SocketWrapperBase<?> socket;
    private final InternalHttpUpgradeHandler tomcat;
    private final AtomicInteger requests = new AtomicInteger();
    private volatile long idleSince = System.nanoTime();

    Connection(SocketWrapperBase<?> socket, Adapter servlets) {
      this.socket = socket;
      tomcat =
          H2Protocol.super.getInternalUpgradeHandler(
              socket,
              new AdapterFilter(servlets) {
                @Override
                public void service(Request request, Response response) throws Exception {
                  var stream = new Stream(request, response);
                  requests.incrementAndGet();
                  Exchange.CURRENT.set(stream);
                  try {
                    addHost(request);
                    HttpProcessor.removeInvalid(request.getMimeHeaders());
                    super.service(request, response);
                    var _ = stream.discardArrivedBody();
                  } finally {
                    Exchange.CURRENT.remove();
                    idleSince = System.nanoTime();
                    requests.decrementAndGet();
                  }
                }
              },
              null);
    }

    /** Adds the header that servlets expect; Tomcat keeps {@code :authority} to itself. */
    private static void addHost(Request request) {
      if (!request.serverName().isNull()) {
        int port = request.getServerPort();
        request
            .getMimeHeaders()
            .setValue("host")
            .setString(request.serverName() + (port < 0 ? "" : ":" + port));
      }
    }

    /**
     * Times out without a request, too. Tomcat would wait forever for the rest of a request's
     * headers, and restart its timeout with every frame.
     */
    @Override
    public void timeoutAsync(long now) {
      long limit = TimeUnit.MILLISECONDS.toNanos(getKeepAliveTimeout());
      boolean idle = requests.get() == 0 && limit > 0 && System.nanoTime() - idleSince > limit;
      tomcat.timeoutAsync(idle ? -1 : now); // -1 is always late
    }

    @Override
    public SocketState upgradeDispatch(SocketEvent status) {
      return tomcat.upgradeDispatch(status);
    }

    @Override
    public void setSocketWrapper(SocketWrapperBase<?> wrapper) {
      tomcat.setSocketWrapper(wrapper);
    }

    @Override
    public void setSslSupport(SSLSupport support) {
      tomcat.setSslSupport(support);
    }

    @Override
    public void pause() {
      tomcat.pause();
    }

    @Override
    public boolean hasAsyncIO() {
      return tomcat.hasAsyncIO();
    }

    @Override
    public void init(WebConnection connection) {
      tomcat.init(connection);
    }

    @Override
    public void destroy() {
      tomcat.destroy();
    }

    private final class Stream implements Exchange {
      private final Request request;
      private final Response response;

      Stream(Request request, Response response) {
        this.request = request;
        this.response = response;
      }

      /** Tomcat sets the attribute when the client resets the stream or disconnects. */
      @Override
      public BooleanSupplier clientHasGone() {
        return () ->
            socket.isClosed() || request.getAttribute(RequestDispatcher.ERROR_EXCEPTION) != null;
      }

      @Override
      public long readTimeoutMillis() {
        return getStreamReadTimeout();
      }

      @Override
      public boolean isBodyRead() {
        return request.isFinished();
      }

      /** At most one window has arrived, which one read returns. */
      @Override
      public boolean discardArrivedBody() {
        try {
          if (request.getInputBuffer().available() > 0) {
            var _ = request.doRead(new UnreadBodies.Discarded());
          }
        } catch (IOException e) {
          LOG.debug("Discarding an unread body failed: {}", e.toString());
        }
        return request.isFinished();
      }

      @Override
      public boolean needsWholeBody() {
        return false;
      }

      /** Does nothing, since Tomcat resets the stream after the response. */
      @Override
      public void abandonBody() {}

      /** Closes the connection. Tomcat would end the stream as if the response were complete. */
      @Override
      public void abortResponse() {
        if (response.isCommitted()) {
          var _ = tomcat.upgradeDispatch(SocketEvent.ERROR);
        }
      }

      /** Does nothing, since the streams of a connection share its buffers. */
      @Override
      public void enlargeBuffers() {}
    }
  }
}
