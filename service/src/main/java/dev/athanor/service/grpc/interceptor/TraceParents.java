package dev.athanor.service.grpc.interceptor;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.Iterator;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Discards several {@code traceparent} values of a call, which start a new trace (W3C). */
@Order(Ordered.HIGHEST_PRECEDENCE)
public final class TraceParents implements ServerInterceptor {

  private static final Metadata.Key<String> PARENT =
      Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    var given = metadata.getAll(PARENT);
    Iterator<String> each = given == null ? null : given.iterator();
    if (each != null && each.hasNext()) {
      each.next();
      if (each.hasNext()) {
        metadata.discardAll(PARENT);
      }
    }
    return next.startCall(call, metadata);
  }
}
