package dev.athanor.service.http;

import java.io.IOException;
import java.util.Collections;
import org.apache.coyote.Adapter;
import org.apache.coyote.ErrorState;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/** Processes the requests of a connection, one at a time. Processors are pooled. */
final class HttpProcessor extends Http11Processor {

  private static final ThreadLocal<HttpProcessor> CURRENT = new ThreadLocal<>();

  private static final String PARENT = "traceparent";
  private static final String ACCEPT = "accept";

  private final HttpProtocol protocol;
  private final Adapter completingAdapter;

  /** The connection with incomplete headers, and when they began to arrive. */
  private @Nullable SocketWrapperBase<?> partial;

  private long since;
  private boolean abandoned;

  HttpProcessor(HttpProtocol protocol) {
    super(protocol, protocol.getAdapter());
    this.protocol = protocol;
    completingAdapter = new CompletingAdapter(protocol.getAdapter());
  }

  /** Returns the processor of this thread's request; null outside of requests. */
  static @Nullable HttpProcessor currentOrNull() {
    return CURRENT.get();
  }

  @Override
  public SocketState service(SocketWrapperBase<?> socket) throws IOException {
    boolean more = socket.equals(partial);
    long timeout = protocol.headerNanos();
    if (more && timeout > 0 && System.nanoTime() - since > timeout) {
      partial = null;
      return SocketState.CLOSED;
    }
    CURRENT.set(this);
    try {
      var state = super.service(socket);
      partial = state == SocketState.LONG && !isAsync() ? socket : null;
      since = more ? since : System.nanoTime();
      return state;
    } finally {
      CURRENT.remove();
      shrinkBuffers(socket);
    }
  }

  /**
   * Rejects requests with ambiguous length, which allow request smuggling (RFC 9112, section 6.1),
   * and HTTP/0.9, which has no status. Discards several {@code traceparent} headers, which start a
   * new trace (W3C Trace Context), and an empty {@code Accept}, which means no preference (RFC
   * 9110, section 12.5.1) and on which Spring Boot's endpoints fail.
   */
  void checkHeaders() {
    var headers = request.getMimeHeaders();
    if (Collections.list(headers.values(PARENT)).size() > 1) {
      headers.removeHeader(PARENT);
    }
    var accepted = Collections.list(headers.values(ACCEPT));
    if (!accepted.isEmpty() && accepted.stream().allMatch(each -> each.matches("[\\s,]*"))) {
      headers.removeHeader(ACCEPT);
    }
    if (request.protocol().equals("")) {
      setErrorState(ErrorState.CLOSE_NOW, null);
    } else if (headers.getValue("transfer-encoding") != null
        && (headers.getValue("content-length") != null || !request.protocol().equals("HTTP/1.1"))) {
      response.setStatus(400);
      setErrorState(ErrorState.CLOSE_CLEAN, null);
    }
  }

  SocketWrapperBase<?> socket() {
    return getSocketWrapper();
  }

  boolean isBodyRead() {
    return isRequestBodyFullyRead();
  }

  /** Stops reading this request's body. */
  void abandonBody() {
    abandoned = true;
  }

  /**
   * Discards what has arrived of this request's body.
   *
   * @return whether the body has ended, so that the connection can be reused
   */
  boolean discardArrivedBody() {
    if (sentBody() && !abandoned && getErrorState().isIoAllowed()) {
      var _ = protocol.unreadBodies().discard(request, getSocketWrapper(), false);
    }
    return isRequestBodyFullyRead();
  }

  /** Whether the client has sent its body; it may wait for 100 Continue. */
  private boolean sentBody() {
    return !request.hasExpectation() || request.getBytesRead() > 0;
  }

  /** Aborts a response that has begun, so that the client sees that it is incomplete. */
  void abortResponse() {
    if (response.isCommitted()) {
      setSwallowResponse();
      setErrorState(ErrorState.CLOSE_NOW, null);
    }
  }

  void enlargeBuffers() {
    if (getSocketWrapper().getSocketBufferHandler() instanceof SocketBuffers buffers) {
      buffers.enlarge();
    }
  }

  private static void shrinkBuffers(SocketWrapperBase<?> socket) {
    if (socket.getSocketBufferHandler() instanceof SocketBuffers buffers) {
      buffers.shrink();
    }
  }

  /** Bounds the reading of an unread body after the response; Tomcat would read it at any pace. */
  private void finish() {
    if (!isAsync() && getErrorState().isIoAllowed() && !isRequestBodyFullyRead()) {
      boolean waits = sentBody() && !abandoned && !getErrorState().isError();
      if (!sentBody() || !protocol.unreadBodies().discard(request, getSocketWrapper(), waits)) {
        disableSwallowRequest();
        setErrorState(ErrorState.CLOSE_CLEAN, null);
      }
    }
    shrinkBuffers(getSocketWrapper());
  }

  @Override
  public Adapter getAdapter() {
    return completingAdapter;
  }

  /** Wraps Tomcat's servlet adapter to act after each response. */
  private final class CompletingAdapter implements Adapter {
    private final Adapter servlets;

    CompletingAdapter(Adapter servlets) {
      this.servlets = servlets;
    }

    @Override
    public void service(Request request, Response response) throws Exception {
      abandoned = false;
      servlets.service(request, response);
      finish();
    }

    @Override
    public boolean prepare(Request request, Response response) throws Exception {
      return servlets.prepare(request, response);
    }

    @Override
    public boolean asyncDispatch(Request request, Response response, SocketEvent status)
        throws Exception {
      return servlets.asyncDispatch(request, response, status);
    }

    @Override
    public void log(Request request, Response response, long time) {
      servlets.log(request, response, time);
    }

    @Override
    public void checkRecycled(Request request, Response response) {
      servlets.checkRecycled(request, response);
    }

    @Override
    public String getDomain() {
      return servlets.getDomain();
    }
  }
}
