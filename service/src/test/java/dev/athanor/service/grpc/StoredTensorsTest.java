package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Duration;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.GetResponse;
import dev.athanor.api.v1.ListRequest;
import dev.athanor.api.v1.NamedTensor;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.RenewRequest;
import dev.athanor.api.v1.Replacement;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.Tensor;
import dev.athanor.testing.TestTier;
import io.grpc.Status;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests named tensors over gRPC, on a single replica. */
@Tag(TestTier.THOROUGH_TAG)
class StoredTensorsTest extends GrpcTest {

  @AfterEach
  void deleteAll() {
    for (var tensor : tensors().list(ListRequest.getDefaultInstance()).getTensorsList()) {
      tensors().delete(DeleteRequest.newBuilder().setHandle(tensor.getHandle()).build());
    }
  }

  private static NamedTensor.Builder named(String name) {
    return NamedTensor.newBuilder().setName(name);
  }

  private Tensor store(NamedTensor.Builder named, float... values) {
    var header = PutHeader.newBuilder().setDtype("f32").addShape(values.length).setStore(named);
    return put(PutRequest.newBuilder().setHeader(header).build(), chunk(bytes(values)));
  }

  private Tensor describe(String handle) {
    return tensors().describe(DescribeRequest.newBuilder().setHandle(handle).build()).getTensor();
  }

  private float[] read(String handle) {
    var values = new float[1];
    tensors()
        .get(GetRequest.newBuilder().setHandle(handle).build())
        .forEachRemaining(answer -> {
          if (answer.getMessageCase() == GetResponse.MessageCase.CHUNK) {
            values[0] =
                Float.intBitsToFloat(
                    Integer.reverseBytes(answer.getChunk().asReadOnlyByteBuffer().getInt()));
          }
        });
    return values;
  }

  @Test
  void storesReadsAndDeletesTensorsByName() {
    var stored =
        store(named("w").setScope("job7").setLease(Duration.newBuilder().setSeconds(600)), 1, 2);

    assertThat(stored.getName()).isEqualTo("w");
    assertThat(stored.getScope()).isEqualTo("job7");
    assertThat(stored.getReplicasList()).containsExactly("test");
    assertThat(stored.hasExpiresAt()).isTrue();
    assertThat(describe("w")).isEqualTo(stored);
    assertThat(describe(stored.getHandle())).isEqualTo(stored);
    assertThat(read("w")).containsExactly(1);
    var run = RunRequest.newBuilder().setOp("identity").putInputs("x", resident("w")).build();
    assertThat(ops().run(run).getOutputsMap()).containsKey("y");

    var request = DeleteRequest.newBuilder().setHandle("w").build();
    assertThat(tensors().delete(request)).isEqualTo(tensors().delete(request));
    refusal(() -> describe("w"))
        .is(
            Status.Code.NOT_FOUND,
            "unknown-handle",
            "handle",
            "no tensor is stored under the name w; PUT /tensors/w stores one, and handles look like t_…");
  }

  @Test
  void onlyNamedTensorsHaveReplicas() {
    assertThat(describe(put(1, 2)).getReplicasList()).isEmpty();
  }

  @Test
  void storingAgainReplacesTheTensor() {
    var first = store(named("w").setReplicas(1), 1, 2);
    var second = store(named("w").setAllReplicas(true), 3);

    assertThat(first.hasExpiresAt()).isFalse();
    assertThat(second.getVersion()).isGreaterThan(first.getVersion());
    assertThat(read("w")).containsExactly(3);
    refusal(() -> describe(first.getHandle()))
        .is(
            Status.Code.NOT_FOUND,
            "unknown-handle",
            "handle",
            "Unknown tensor " + first.getHandle());
  }

  @Test
  void preconditionsPreventLostUpdates() {
    refusal(() -> store(named("w").setVersion(7), 1))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "version-mismatch",
            "header.store.version",
            "header.store.version is 7, but no tensor is stored under the name w");
    var version = store(named("w").setAbsent(true), 1).getVersion();
    refusal(() -> store(named("w").setAbsent(true), 2))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "version-mismatch",
            "header.store.absent",
            "header.store.absent is true, but version %d of a tensor is stored under the name w"
                .formatted(version));
    refusal(() -> store(named("w").setVersion(7), 2))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "version-mismatch",
            "header.store.version",
            "header.store.version is 7, but the tensor w has version %d; read it again"
                .formatted(version));
    assertThat(read("w")).containsExactly(1);
    store(named("w").setVersion(version), 2);
    assertThat(read("w")).containsExactly(2);
    assertThat(tensors().list(ListRequest.getDefaultInstance()).getTensorsList()).hasSize(1);
  }

  @Test
  void rejectsMalformedRequests() {
    refusal(() -> store(named("t_w"), 1))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "name",
            "the name is \"t_w\"; a name has 1 to 128 letters, digits, periods, hyphens and underscores, begins with a letter or a digit, and not with t_ as handles do");
    for (int replicas : List.of(0, 2)) {
      refusal(() -> store(named("w").setReplicas(replicas), 1))
          .is(
              Status.Code.INVALID_ARGUMENT,
              "invalid-attribute",
              "header.store.replicas",
              "header.store.replicas is %d; it must be 1 to 1, the maximum number of replicas (athanor.forward.replicas, athanor.forward.discovery)"
                  .formatted(replicas));
    }
    refusal(() -> store(named("w").setAllReplicas(false), 1))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "header.store.all_replicas",
            "header.store.all_replicas is false; it must be true or unset");
    refusal(() -> store(named("w").setLease(Duration.newBuilder().setSeconds(-1)), 1))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "header.store.lease",
            "header.store.lease is -1 s; it must be an integer 0 to 315360000");
    assertThat(tensors().list(ListRequest.getDefaultInstance()).getTensorsList()).isEmpty();
  }

  @Test
  void namedTensorsChangeOnlyByStoringAgain() {
    store(named("w"), 1);
    refusal(() ->
            put(
                PutRequest.newBuilder()
                    .setHeader(
                        PutHeader.newBuilder()
                            .setDtype("f32")
                            .addShape(1)
                            .setReplace(Replacement.newBuilder().setHandle("w")))
                    .build(),
                chunk(bytes(2))))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "handle-in-use",
            "handle",
            "w is stored under the name w, so its contents do not change; PUT /tensors/w replaces it");
    refusal(() ->
            tensors()
                .renew(
                    RenewRequest.newBuilder()
                        .setHandle("w")
                        .setLease(Duration.newBuilder().setSeconds(60))
                        .build()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "handle",
            "handle is the name w, which may have copies on other replicas; store the tensor again to set its lease");
  }
}
