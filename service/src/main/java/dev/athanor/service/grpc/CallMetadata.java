package dev.athanor.service.grpc;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.stream.RequestContext;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.HashMap;
import java.util.Map;

/**
 * Reads the metadata of a call: credentials for requests to other replicas, priority, row
 * invariance, and Triton's error mode.
 */
final class CallMetadata implements ServerInterceptor {

  /** Whether a failed request ends its stream, which Triton's clients can request. */
  static final Context.Key<Boolean> FAILS_WHOLE =
      Context.keyWithDefault("athanor.fails-whole", false);

  static final Metadata.Key<String> PRIORITY =
      Metadata.Key.of("x-priority", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> ROW_INVARIANT =
      Metadata.Key.of("x-row-invariant", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> TRITON_ERROR =
      Metadata.Key.of("triton_grpc_error", Metadata.ASCII_STRING_MARSHALLER);

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    var context = Context.current().withValue(GrpcCalls.CREDENTIALS, credentials(metadata));
    var priority = metadata.get(PRIORITY);
    if (priority != null) {
      if (!priority.matches("[1-" + RequestContext.LAST_PRIORITY + "]")) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            "x-priority",
            "x-priority is \"%s\"; it must be an integer 1 to %d"
                .formatted(Tensors.excerpt(priority), RequestContext.LAST_PRIORITY));
      }
      context = context.withValue(GrpcCalls.PRIORITY, Integer.valueOf(priority));
    }
    var rowInvariant = metadata.get(ROW_INVARIANT);
    if (rowInvariant != null) {
      if (!rowInvariant.matches("true|false")) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            "x-row-invariant",
            "x-row-invariant is \"%s\"; it must be true or false"
                .formatted(Tensors.excerpt(rowInvariant)));
      }
      context = context.withValue(GrpcCalls.ROW_INVARIANT, Boolean.valueOf(rowInvariant));
    }
    if ("true".equals(metadata.get(TRITON_ERROR))) {
      context = context.withValue(FAILS_WHOLE, true);
    }
    return Contexts.interceptCall(context, call, metadata, next);
  }

  private static Map<String, String> credentials(Metadata metadata) {
    var credentials = new HashMap<String, String>();
    for (var name : Peers.CREDENTIALS) {
      var value = metadata.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
      if (value != null) {
        credentials.put(name, value);
      }
    }
    return credentials;
  }
}
