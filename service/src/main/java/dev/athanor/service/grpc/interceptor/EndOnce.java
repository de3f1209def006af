package dev.athanor.service.grpc.interceptor;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Ignores responses after the end of a call. A call may end while another thread still works on it,
 * for example because its next message is malformed; gRPC would throw an exception at that thread.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
public final class EndOnce implements ServerInterceptor {

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    return next.startCall(new Guarded<>(call), metadata);
  }

  private static final class Guarded<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private boolean ended;

    Guarded(ServerCall<Q, A> call) {
      super(call);
    }

    @Override
    public synchronized void sendHeaders(Metadata headers) {
      if (!ended) {
        super.sendHeaders(headers);
      }
    }

    @Override
    public synchronized void sendMessage(A message) {
      if (!ended) {
        super.sendMessage(message);
      }
    }

    @Override
    public synchronized void close(Status status, Metadata trailers) {
      if (!ended) {
        ended = true;
        super.close(status, trailers);
      }
    }
  }
}
