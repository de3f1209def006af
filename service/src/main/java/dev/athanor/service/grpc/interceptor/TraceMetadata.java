package dev.athanor.service.grpc.interceptor;

import dev.athanor.service.metrics.Traces;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Adds the trace of the call to the response metadata. */
@Order(Ordered.HIGHEST_PRECEDENCE + 5) // runs inside the interceptor that starts the span
public final class TraceMetadata implements ServerInterceptor {

  private static final Metadata.Key<String> RESPONSE =
      Metadata.Key.of(Traces.RESPONSE, Metadata.ASCII_STRING_MARSHALLER);

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    var trace = Traces.response();
    if (trace == null) {
      return next.startCall(call, metadata);
    }
    return next.startCall(
        new SimpleForwardingServerCall<>(call) {
          @Override
          public void sendHeaders(Metadata headers) {
            headers.put(RESPONSE, trace);
            super.sendHeaders(headers);
          }
        },
        metadata);
  }
}
