package dev.athanor.service.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.function.BooleanSupplier;
import org.apache.coyote.Adapter;
import org.apache.coyote.ErrorState;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.http.MimeHeaders;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/** Processes the requests of a connection, one at a time. Processors are pooled. */
final class HttpProcessor extends Http11Processor implements Exchange {

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
    completingAdapter =
        new AdapterFilter(protocol.getAdapter()) {
          @Override
          public void service(Request request, Response response) throws Exception {
            abandoned = false;
            super.service(request, response);
            finish();
          }
        };
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
   * Removes several {@code traceparent} headers, which start a new trace (W3C Trace Context), and
   * an empty {@code Accept}, which means no preference (RFC 9110, section 12.5.1) and on which
   * Spring Boot's endpoints fail.
   */
  static void removeInvalid(MimeHeaders headers) {
    if (Collections.list(headers.values(PARENT)).size() > 1) {
      headers.removeHeader(PARENT);
    }
    var accepted = Collections.list(headers.values(ACCEPT));
    if (!accepted.isEmpty() && accepted.stream().allMatch(each -> each.matches("[\\s,]*"))) {
      headers.removeHeader(ACCEPT);
    }
  }

  /**
   * Rejects requests with ambiguous length, which allow request smuggling (RFC 9112, section 6.1),
   * and HTTP/0.9, which has no status.
   */
  void checkHeaders() {
    var headers = request.getMimeHeaders();
    removeInvalid(headers);
    if (request.protocol().equals("")) {
      setErrorState(ErrorState.CLOSE_NOW, null);
    } else if (headers.getValue("transfer-encoding") != null
        && (headers.getValue("content-length") != null || !request.protocol().equals("HTTP/1.1"))) {
      response.setStatus(400);
      setErrorState(ErrorState.CLOSE_CLEAN, null);
    }
  }

  /** A half-closed connection counts as disconnected. */
  @Override
  public BooleanSupplier clientHasGone() {
    var socket = getSocketWrapper();
    return () -> hasGone(socket);
  }

  private static boolean hasGone(SocketWrapperBase<?> socket) {
    if (socket.isClosed()) {
      return true;
    }
    try {
      var next = ByteBuffer.allocate(1);
      int count = socket.read(false, next);
      if (count > 0) {
        socket.unRead(next.flip()); // a byte of a pipelined request
      }
      return count < 0;
    } catch (IOException e) {
      return true;
    }
  }

  @Override
  public long readTimeoutMillis() {
    return getSocketWrapper().getReadTimeout();
  }

  @Override
  public boolean isBodyRead() {
    return isRequestBodyFullyRead();
  }

  @Override
  public void abandonBody() {
    abandoned = true;
  }

  @Override
  public boolean needsWholeBody() {
    return true;
  }

  @Override
  public boolean discardArrivedBody() {
    if (sentBody() && !abandoned && getErrorState().isIoAllowed()) {
      var _ = protocol.unreadBodies().discard(request, getSocketWrapper(), false);
    }
    return isRequestBodyFullyRead();
  }

  /** Whether the client has sent its body; it may wait for 100 Continue. */
  private boolean sentBody() {
    return !request.hasExpectation() || request.getBytesRead() > 0;
  }

  @Override
  public void abortResponse() {
    if (response.isCommitted()) {
      setSwallowResponse();
      setErrorState(ErrorState.CLOSE_NOW, null);
    }
  }

  @Override
  public void enlargeBuffers() {
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
}
