package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.GetResponse;
import dev.athanor.api.v1.ListRequest;
import dev.athanor.api.v1.NewTensor;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.RenewRequest;
import dev.athanor.api.v1.Replacement;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorsGrpc;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TensorsServiceTest extends GrpcTest {

  static final int CHUNK = 1 << 20;

  /** Releases the quota for other tests. */
  @AfterEach
  void deleteAll() {
    for (var tensor : tensors().list(ListRequest.getDefaultInstance()).getTensorsList()) {
      tensors().delete(DeleteRequest.newBuilder().setHandle(tensor.getHandle()).build());
    }
  }

  static ByteString random(int size) {
    var bytes = new byte[size];
    new Random(7).nextBytes(bytes);
    return ByteString.copyFrom(bytes);
  }

  static PutRequest[] messages(PutRequest header, ByteString data) {
    var messages = new ArrayList<>(List.of(header));
    for (int at = 0; at < data.size(); at += CHUNK) {
      messages.add(chunk(data.substring(at, Math.min(at + CHUNK, data.size()))));
    }
    return messages.toArray(PutRequest[]::new);
  }

  static GetRequest.Builder from(Tensor tensor) {
    return GetRequest.newBuilder().setHandle(tensor.getHandle());
  }

  /** Returns all responses of a download. */
  private List<GetResponse> get(GetRequest.Builder request) {
    var answers = new ArrayList<GetResponse>();
    tensors().get(request.build()).forEachRemaining(answers::add);
    return answers;
  }

  private ByteString contents(GetRequest.Builder request) {
    return get(request).stream()
        .map(GetResponse::getChunk)
        .reduce(ByteString.EMPTY, ByteString::concat);
  }

  @Test
  void uploadsAndDownloadsFiveMegabytes() {
    var data = random(5_000_000);
    var tensor =
        put(
            messages(
                header(
                    NewTensor.newBuilder()
                        .setName("x")
                        .setScope("job7")
                        .setLease(Duration.newBuilder().setSeconds(60))
                        .build(),
                    "f16",
                    2,
                    1_250_000),
                data));
    assertThat(tensor.getShapeList()).containsExactly(2L, 1_250_000L);
    assertThat(tensor.getDtype()).isEqualTo("f16");
    assertThat(tensor.getBytes()).isEqualTo(5_000_000);
    assertThat(tensor.getDevice()).isEqualTo("fake:0");
    assertThat(tensor.getName()).isEqualTo("x");
    assertThat(tensor.getScope()).isEqualTo("job7");
    assertThat(tensor.getExpiresAt().getSeconds() - tensor.getCreatedAt().getSeconds())
        .isEqualTo(60);

    var answers = get(from(tensor));
    var header = answers.getFirst().getHeader();
    assertThat(header.getTensor().getVersion()).isEqualTo(1);
    assertThat(header.getLength()).isEqualTo(5_000_000);
    assertThat(answers.stream().skip(1).mapToInt(answer -> answer.getChunk().size()).max())
        .hasValue(1 << 19);
    assertThat(contents(from(tensor))).isEqualTo(data);
    assertThat(contents(from(tensor).setChunkBytes(CHUNK))).isEqualTo(data);
    assertThat(contents(from(tensor).setOffset(4_999_990))).isEqualTo(data.substring(4_999_990));
    assertThat(contents(from(tensor).setOffset(3).setLength(600_001)))
        .isEqualTo(data.substring(3, 600_004));
    assertThat(contents(from(tensor).setOffset(5_000_000))).isEqualTo(ByteString.EMPTY);
  }

  @Test
  void transfersTensorsWithoutElements() {
    var tensor = put(header("f32", 0, 3));
    assertThat(tensor.getShapeList()).containsExactly(0L, 3L);
    assertThat(tensor.getBytes()).isZero();
    var answers = get(from(tensor));
    assertThat(answers).hasSize(1);
    assertThat(answers.getFirst().getHeader().getLength()).isZero();
    refusal(() -> put(header("f32", 0, 3), chunk(bytes(1))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "chunk",
            "f32[0, 3] needs 0 bytes of data, got more");
  }

  @Test
  void rejectsInvalidRangesAndVersions() {
    var tensor = put(header("f32", 2), chunk(bytes(1, 2)));
    refusal(() -> get(from(tensor).setOffset(9)))
        .is(
            Status.Code.OUT_OF_RANGE,
            "range-not-satisfiable",
            "offset",
            "offset 9 is outside the tensor's 8 bytes");
    refusal(() -> get(from(tensor).setOffset(4).setLength(5)))
        .is(
            Status.Code.OUT_OF_RANGE,
            "range-not-satisfiable",
            "length",
            "offset 4, length 5 is outside the tensor's 8 bytes");
    refusal(() -> get(from(tensor).setOffset(1).setLength(Long.MAX_VALUE)))
        .is(
            Status.Code.OUT_OF_RANGE,
            "range-not-satisfiable",
            "length",
            "offset 1, length 9223372036854775807 is outside the tensor's 8 bytes");
    refusal(() -> get(from(tensor).setVersion(2)))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "version-mismatch",
            "version",
            "the tensor has version 1, not 2; read it again");
    refusal(() -> get(from(tensor).setChunkBytes(10)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "chunk_bytes",
            "chunk_bytes is 10; it must be 4096 to 1048576");
    assertThat(refusal(() -> get(GetRequest.newBuilder().setHandle("x"))).reason())
        .isEqualTo("unknown-handle");
  }

  @Test
  void rejectsWrongLengthsWithoutLeaks() {
    long bytes = store.bytes();
    int buffers = settledBuffers();
    refusal(() -> put(header("f32", 2), chunk(bytes(1))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "chunk",
            "f32[2] needs 8 bytes of data, got 4");
    refusal(() -> put(header("f32", 2), chunk(bytes(1, 2)), chunk(bytes(3))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "chunk",
            "f32[2] needs 8 bytes of data, got more");
    refusal(() -> put(header("f32", 2), chunk(bytes(1, 2, 3))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "chunk",
            "f32[2] needs 8 bytes of data, got more");
    refusal(() -> put(header("f32", 2)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "chunk",
            "f32[2] needs 8 bytes of data, got 0");
    refusal(() -> put(new PutRequest[0]))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            "header",
            "the first message of the stream must be a header");
    refusal(() -> put(chunk(bytes(1))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            "header",
            "the first message of the stream must be a header");
    refusal(() -> put(header("f32", 2), chunk(bytes(1)), header("f32", 2)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            "chunk",
            "every message after the header must be a chunk of bytes");
    refusal(() -> put(header("f32", 2), chunk(ByteString.EMPTY)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            "chunk",
            "every message after the header must be a chunk of bytes");
    refusal(() -> put(header("u8", 2 << 20), chunk(random(CHUNK + 1))))
        .is(
            Status.Code.RESOURCE_EXHAUSTED,
            "too-large",
            "chunk",
            "a chunk has 1048577 bytes; the limit is 1048576 bytes");
    refusal(() -> put(header("bool", 2), chunk(ByteString.copyFrom(new byte[] {0, 7}))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "chunk",
            "byte 1 of a bool tensor is 7; it must be 0 or 1");
    refusal(() -> put(header("f32", -1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "header.shape",
            "header.shape is [-1]; every extent must be at least 0");
    assertThat(store.bytes()).isEqualTo(bytes);
    assertThat(device.openBuffers()).isEqualTo(buffers);
  }

  @Test
  void checksOptions() {
    refusal(() -> put(header(NewTensor.newBuilder().setName("a\nb").build(), "f32", 1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "header.create.name",
            "header.create.name is \"a?b\"; it must have 1 to 128 printable characters");
    refusal(() ->
            put(
                header(
                    NewTensor.newBuilder().setLease(Duration.newBuilder().setSeconds(-1)).build(),
                    "f32",
                    1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "header.create.lease",
            "header.create.lease is -1 s; it must be an integer 0 to 315360000");
    refusal(() ->
            put(
                header(NewTensor.newBuilder().setIdempotencyKey("").build(), "f32", 1),
                chunk(bytes(1))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "header.create.idempotency_key",
            "header.create.idempotency_key has 0 characters; it must have 1 to 255");
  }

  @Test
  void reservesTheQuotaBeforeReadingChunks() {
    var large = start(header("u8", 33_554_433));
    refusal(large::tensor)
        .is(
            Status.Code.RESOURCE_EXHAUSTED,
            "too-large",
            "chunk",
            "u8[33554433] needs 33554433 bytes; the limit is 33554432 bytes");
    var first = start(header("u8", 33_554_432));
    var second = start(header("u8", 33_554_432));
    await().until(() -> store.bytes() == 67_108_864);
    var third = refusal(start(header("u8", 1))::tensor);
    assertThat(third.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(third.reason()).isEqualTo("quota-exceeded");
    assertThat(third.mayRetry()).isTrue();
    Objects.requireNonNull(first.call).cancel("enough", null);
    await().until(() -> store.bytes() == 33_554_432);
    Objects.requireNonNull(second.call).cancel("enough", null);
    await().until(() -> store.bytes() == 0);
    assertThat(device.openBuffers()).isZero();
  }

  @Test
  void replacesContentsInPlace() {
    var tensor = put(header("f32", 2), chunk(bytes(1, 2)));
    var replaced = put(replacement(tensor, 1, "f32", 2), chunk(bytes(3)), chunk(bytes(4)));
    assertThat(replaced.getHandle()).isEqualTo(tensor.getHandle());
    assertThat(replaced.getVersion()).isEqualTo(2);
    assertThat(contents(from(tensor).setVersion(2))).isEqualTo(bytes(3, 4));
    assertThat(refusal(() -> put(replacement(tensor, 1, "f32", 2), chunk(bytes(5, 6)))).reason())
        .isEqualTo("version-mismatch");
    refusal(() -> put(replacement(tensor, 2, "f32", 3), chunk(bytes(5, 6, 7))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "shape-mismatch",
            "header",
            "the tensor has type f32[2], but the header has f32[3]; they must be equal");
    assertThat(contents(from(tensor))).isEqualTo(bytes(3, 4));
  }

  private static PutRequest replacement(Tensor tensor, long version, String dtype, long extent) {
    return PutRequest.newBuilder()
        .setHeader(
            PutHeader.newBuilder()
                .setDtype(dtype)
                .addShape(extent)
                .setReplace(
                    Replacement.newBuilder().setHandle(tensor.getHandle()).setVersion(version)))
        .build();
  }

  @Test
  void idempotencyKeyMakesRetriesSafe() {
    var options = NewTensor.newBuilder().setIdempotencyKey("key-1").build();
    var first = put(header(options, "f32", 2), chunk(bytes(1, 2)));
    var again = put(header(options, "f32", 2), chunk(bytes(1)), chunk(bytes(2)));
    assertThat(again).isEqualTo(first);
    var other = refusal(() -> put(header(options, "f32", 2), chunk(bytes(1, 3))));
    assertThat(other.status()).isEqualTo(Status.Code.ALREADY_EXISTS);
    assertThat(other.reason()).isEqualTo("idempotency-key-reused");
  }

  @Test
  void listsRenewsAndDeletesTensors() {
    var scope = NewTensor.newBuilder().setScope("s").build();
    var a = put(header(scope, "f32", 1), chunk(bytes(1)));
    var b = put(header(scope, "f32", 1), chunk(bytes(2)));
    var c = put(header("f32", 1), chunk(bytes(3)));
    var page = tensors().list(ListRequest.newBuilder().setLimit(2).build());
    assertThat(page.getTensorsList())
        .extracting(Tensor::getHandle)
        .containsExactly(c.getHandle(), b.getHandle());
    var rest = tensors().list(ListRequest.newBuilder().setAfter(page.getNext()).build());
    assertThat(rest.getTensorsList()).extracting(Tensor::getHandle).containsExactly(a.getHandle());
    assertThat(rest.hasNext()).isFalse();
    refusal(() -> tensors().list(ListRequest.newBuilder().setLimit(0).build()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "limit",
            "limit is 0; it must be 1 to 1000");

    var renewed =
        tensors()
            .renew(
                RenewRequest.newBuilder()
                    .setHandle(c.getHandle())
                    .setLease(Duration.getDefaultInstance())
                    .build())
            .getTensor();
    assertThat(renewed.hasExpiresAt()).isFalse();
    assertThat(describe(c)).isEqualTo(renewed);
    refusal(() -> tensors().renew(RenewRequest.newBuilder().setHandle(c.getHandle()).build()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "lease",
            "lease is missing; give the new lease");

    tensors().delete(DeleteRequest.newBuilder().setScope("s").build());
    assertThat(refusal(() -> describe(a)).reason()).isEqualTo("unknown-handle");
    var delete = DeleteRequest.newBuilder().setHandle(c.getHandle()).build();
    tensors().delete(delete);
    tensors().delete(delete);
    assertThat(device.openBuffers()).isZero();
    refusal(() -> tensors().delete(DeleteRequest.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "handle",
            "handle and scope are missing; give one of them");
  }

  private Tensor describe(Tensor tensor) {
    return tensors()
        .describe(DescribeRequest.newBuilder().setHandle(tensor.getHandle()).build())
        .getTensor();
  }

  /** A client that requests responses only when the test does. */
  static final class SlowReader implements ClientResponseObserver<GetRequest, GetResponse> {
    final LinkedBlockingQueue<GetResponse> answers = new LinkedBlockingQueue<>();
    final CompletableFuture<String> ended = new CompletableFuture<>();
    @Nullable ClientCallStreamObserver<GetRequest> call;

    @Override
    public void beforeStart(ClientCallStreamObserver<GetRequest> started) {
      call = started;
      started.disableAutoRequestWithInitial(1);
    }

    @Override
    public void onNext(GetResponse answer) {
      answers.add(answer);
    }

    @Override
    public void onError(Throwable thrown) {
      ended.complete(refusal(thrown).message());
    }

    @Override
    public void onCompleted() {
      ended.complete("completed");
    }
  }

  @Test
  void canceledDownloadReleasesTheTensor() throws InterruptedException {
    var tensor = put(messages(header("u8", 30_000_000), random(30_000_000)));
    var slow = new SlowReader();
    TensorsGrpc.newStub(channel()).get(from(tensor).build(), slow);
    slow.answers.take();
    tensors().delete(DeleteRequest.newBuilder().setHandle(tensor.getHandle()).build());
    Objects.requireNonNull(slow.call).cancel("enough", null);
    await().until(() -> store.bytes() == 0);
    assertThat(device.openBuffers()).isZero();
  }
}
