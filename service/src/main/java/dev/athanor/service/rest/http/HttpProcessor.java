package dev.athanor.service.rest.http;

import java.io.IOException;
import org.apache.coyote.Adapter;
import org.apache.coyote.ErrorState;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/** One connection's requests, one after the other. Processors are reused. */
final class HttpProcessor extends Http11Processor {

  private static final ThreadLocal<HttpProcessor> CURRENT = new ThreadLocal<>();

  private final HttpProtocol protocol;
  private final Adapter answering;

  /** The connection whose headers have come in part, and since when. */
  private @Nullable SocketWrapperBase<?> partial;

  private long since;
  private boolean abandoned;

  HttpProcessor(HttpProtocol protocol) {
    super(protocol, protocol.getAdapter());
    this.protocol = protocol;
    answering = new Answering(protocol.getAdapter());
  }

  /** The processor of this thread's request; null outside of requests. */
  static @Nullable HttpProcessor currentOrNull() {
    return CURRENT.get();
  }

  @Override
  public SocketState service(SocketWrapperBase<?> socket) throws IOException {
    boolean more = socket.equals(partial);
    long longest = protocol.headerNanos();
    if (more && longest > 0 && System.nanoTime() - since > longest) {
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
   * Refuses requests whose end two parties could see at different places (RFC 9112, 6.1), and
   * HTTP/0.9, whose answers have no status.
   */
  void checkHeaders() {
    var headers = request.getMimeHeaders();
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

  /** Waits for no more bytes of this request's body. */
  void abandonBody() {
    abandoned = true;
  }

  /** Leaves an answer that was begun without its end, so that the client sees it is incomplete. */
  void breakOffAnswer() {
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

  /** The answer is complete; without this Tomcat would read on at whatever pace bytes come. */
  private void answered() {
    if (!isAsync() && getErrorState().isIoAllowed() && !isRequestBodyFullyRead()) {
      // a client that still waits for leave to send its body has sent none of it
      boolean unasked = !request.hasExpectation() || request.getBytesRead() > 0;
      boolean waits = unasked && !abandoned && !getErrorState().isError();
      if (!unasked || !protocol.unreadBodies().readOff(request, getSocketWrapper(), waits)) {
        disableSwallowRequest();
        setErrorState(ErrorState.CLOSE_CLEAN, null);
      }
    }
    shrinkBuffers(getSocketWrapper());
  }

  @Override
  public Adapter getAdapter() {
    return answering;
  }

  /** Tomcat's adapter to servlets, with what follows an answer. */
  private final class Answering implements Adapter {
    private final Adapter servlets;

    Answering(Adapter servlets) {
      this.servlets = servlets;
    }

    @Override
    public void service(Request request, Response response) throws Exception {
      abandoned = false;
      servlets.service(request, response);
      answered();
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
