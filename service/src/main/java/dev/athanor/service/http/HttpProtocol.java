package dev.athanor.service.http;

import java.util.concurrent.TimeUnit;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.NioEndpoint;
import org.apache.tomcat.util.net.SocketBufferHandler;

/**
 * HTTP/1.1 hardened against unauthenticated callers. Connections have small buffers until the
 * caller is authenticated, shorter timeouts under load, and are closed if a rejected body does not
 * end. Tomcat instantiates it by name.
 */
public final class HttpProtocol extends Http11NioProtocol {

  private final UnreadBodies unreadBodies = new UnreadBodies(this::getMaxConnections);

  public HttpProtocol() {
    super(new Endpoint());
    getEndpoint().getSocketProperties().setDirectBuffer(true); // heap buffers need an extra copy
    // send 100 Continue only when the body is read
    setContinueResponseTiming("onRead");
    setDisableUploadTimeout(false); // bodies have their own timeout, see below
  }

  /** Returns the limits for bodies that are rejected before they are read. */
  UnreadBodies unreadBodies() {
    return unreadBodies;
  }

  /** Returns the timeout for all headers of a request, in nanoseconds. */
  long headerNanos() {
    return TimeUnit.MILLISECONDS.toNanos(getConnectionTimeout());
  }

  /**
   * Returns the read timeout of a body in milliseconds. Tomcat calls this after it has parsed the
   * headers and before it acts on them, so the headers are checked here.
   */
  @Override
  public int getConnectionUploadTimeout() {
    if (Exchange.CURRENT.get() instanceof HttpProcessor current) {
      current.checkHeaders();
    }
    return bodyTimeout();
  }

  /** Returns how long a body may be silent, in milliseconds. */
  int bodyTimeout() {
    return ((Endpoint) getEndpoint()).configuredTimeout();
  }

  @Override
  protected Processor createProcessor() {
    return new HttpProcessor(this);
  }

  private static final class Endpoint extends NioEndpoint {

    /** Timeout under load for idle connections and incomplete headers. */
    private static final int CROWDED_MILLIS = 2000;

    private final SocketBuffers.Pool pool = new SocketBuffers.Pool();

    int configuredTimeout() {
      return super.getConnectionTimeout();
    }

    /**
     * Returns a shorter timeout than configured while more than half of the connections are in use.
     */
    @Override
    public int getConnectionTimeout() {
      int configured = configuredTimeout();
      boolean crowded = getConnectionCount() > getMaxConnections() / 2;
      return crowded && configured > 0 ? Math.min(configured, CROWDED_MILLIS) : configured;
    }

    @Override
    protected NioChannel createChannel(SocketBufferHandler small) {
      return super.createChannel(new SocketBuffers(small, pool));
    }
  }
}
