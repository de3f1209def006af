package dev.athanor.service.rest.http;

import java.util.concurrent.TimeUnit;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.NioEndpoint;
import org.apache.tomcat.util.net.SocketBufferHandler;

/**
 * HTTP/1.1 that callers without credentials cannot exhaust: connections have small buffers until
 * their caller is known, wait less where there are many of them, and are closed when a refused body
 * does not end. Tomcat creates one by its name.
 */
public final class HttpProtocol extends Http11NioProtocol {

  private final UnreadBodies unreadBodies = new UnreadBodies(this::getMaxConnections);

  public HttpProtocol() {
    super(new Endpoint());
    getEndpoint().getSocketProperties().setDirectBuffer(true); // the heap's are copied once more
    // a client that asks before sending a body is told to send it when the body is read
    setContinueResponseTiming("onRead");
    setDisableUploadTimeout(false); // a body has its own timeout, see below
  }

  /** Bodies that are refused before they are read. */
  UnreadBodies unreadBodies() {
    return unreadBodies;
  }

  /** How long all headers of a request may take, in nanoseconds. */
  long headerNanos() {
    return TimeUnit.MILLISECONDS.toNanos(getConnectionTimeout());
  }

  /**
   * How long a body may pause, in milliseconds. Tomcat asks as soon as it has parsed the headers,
   * and before it acts on them.
   */
  @Override
  public int getConnectionUploadTimeout() {
    var current = HttpProcessor.currentOrNull();
    if (current != null) {
      current.checkHeaders();
    }
    return ((Endpoint) getEndpoint()).configuredTimeout();
  }

  @Override
  protected Processor createProcessor() {
    return new HttpProcessor(this);
  }

  private static final class Endpoint extends NioEndpoint {

    /** How long an idle connection, or one without all headers, is kept where there are many. */
    private static final int CROWDED_MILLIS = 2000;

    private final SocketBuffers.Pool pool = new SocketBuffers.Pool();

    int configuredTimeout() {
      return super.getConnectionTimeout();
    }

    /** Less than configured while more than half of the connections are taken. */
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
