package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.athanor.api.v1.ListOpsRequest;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests errors of calls that must not affect other calls of the connection. */
class MetadataChecksTest extends GrpcTest {

  private static Metadata metadata(int bytes) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of("x", Metadata.ASCII_STRING_MARSHALLER), "a".repeat(bytes));
    return metadata;
  }

  @ParameterizedTest
  @ValueSource(ints = {18_000, 21_000, 60_000})
  void refusesTooMuchMetadata(int bytes) {
    var other = start(header("u8", 1));

    var refusal =
        refusal(() ->
            ops()
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata(bytes)))
                .list(ListOpsRequest.getDefaultInstance()));

    assertThat(refusal.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refusal.reason()).isEqualTo("too-large");
    assertThat(refusal.message())
        .matches("the metadata of the call has \\d+ bytes; the limit is 16384 bytes");
    var upload = Objects.requireNonNull(other.call);
    upload.onNext(chunk(ByteString.copyFrom(new byte[1])));
    upload.onCompleted();
    assertThat(other.tensor().getBytes()).isEqualTo(1);
  }

  @Test
  void acceptsMetadataWithinTheLimit() {
    var answer =
        ops()
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata(15_000)))
            .list(ListOpsRequest.getDefaultInstance());
    assertThat(answer.getOpsCount()).isPositive();
  }

  @Test
  void garbageOnAStreamIsMalformed() {
    refusal(() ->
            ClientCalls.blockingUnaryCall(
                channel(),
                RawMessages.unary("athanor.v1.Tensors/Put"),
                CallOptions.DEFAULT,
                new byte[] {-1, -1, -1}))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            null,
            "the message cannot be parsed as the request type of this method");
  }
}
