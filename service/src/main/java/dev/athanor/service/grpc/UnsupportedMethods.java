package dev.athanor.service.grpc;

import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.openinference.Unsupported;
import io.grpc.HandlerRegistry;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * Rejects methods of Triton's service that are not supported, such as shared memory. It is the
 * fallback registry for unknown methods; without it, clients would only see that the method is not
 * found.
 */
final class UnsupportedMethods extends HandlerRegistry {

  private static final String PREFIX = GRPCInferenceServiceGrpc.SERVICE_NAME + "/";

  @Override
  public @Nullable ServerMethodDefinition<?, ?> lookupMethod(
      String fullName, @Nullable String authority) {
    if (!fullName.startsWith(PREFIX)) {
      return null;
    }
    return Unsupported.method(fullName.substring(PREFIX.length()))
        .map(sentence -> refusing(fullName, sentence))
        .orElse(null);
  }

  private static ServerMethodDefinition<InputStream, InputStream> refusing(
      String fullName, String sentence) {
    var method =
        MethodDescriptor.<InputStream, InputStream>newBuilder()
            .setType(MethodType.UNARY)
            .setFullMethodName(fullName)
            .setRequestMarshaller(new Unread())
            .setResponseMarshaller(new Unread())
            .build();
    ServerCallHandler<InputStream, InputStream> handler =
        (call, _) -> {
          var refusal = Statuses.of(new Failure.Refused(Code.METHOD_NOT_ALLOWED, sentence));
          var trailers = refusal.getTrailers();
          call.close(refusal.getStatus(), trailers == null ? new io.grpc.Metadata() : trailers);
          return new ServerCall.Listener<>() {};
        };
    return ServerMethodDefinition.create(method, handler);
  }

  /** Reads and writes no messages, since only a status is sent. */
  private static final class Unread implements MethodDescriptor.Marshaller<InputStream> {
    @Override
    public InputStream stream(InputStream value) {
      return value;
    }

    @Override
    public InputStream parse(InputStream stream) {
      return new ByteArrayInputStream(new byte[0]);
    }
  }
}
