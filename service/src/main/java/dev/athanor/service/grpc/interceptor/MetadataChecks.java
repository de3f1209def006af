package dev.athanor.service.grpc.interceptor;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import io.grpc.InternalMetadata;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Refuses calls with too much metadata. The connection accepts more than this limit, since beyond
 * its own limit it ends with all its calls.
 */
@Order(Ordered.HIGHEST_PRECEDENCE + 4) // runs inside the exception handler, before authentication
public final class MetadataChecks implements ServerInterceptor {

  /** Bytes that HTTP/2 adds to each name and value (RFC 9113, section 6.5.2). */
  private static final int OVERHEAD = 32;

  private final long limit;

  public MetadataChecks(long limit) {
    this.limit = limit;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    long bytes = 0;
    for (byte[] part : InternalMetadata.serialize(metadata)) {
      bytes += part.length + OVERHEAD / 2;
    }
    if (bytes > limit) {
      throw new Failure.Refused(
          Code.TOO_LARGE,
          "metadata",
          "the metadata of the call has %d bytes; the limit is %d bytes".formatted(bytes, limit));
    }
    return next.startCall(call, metadata);
  }
}
