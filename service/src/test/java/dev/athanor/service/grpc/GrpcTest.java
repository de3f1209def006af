package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.NewTensor;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.PutResponse;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorData;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.TestClock;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Fakes;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.service.tensor.TensorStore;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/**
 * Base class of tests that call the service on a real port through generated stubs, with a fake
 * device in host memory. All tests share one context.
 */
@SpringBootTest(
    classes = {AthanorApplication.class, Fakes.class},
    properties = {
      "athanor.device=emulator",
      "athanor.replica=test",
      "athanor.run.streams=2",
      "athanor.run.queue=2",
      "athanor.quota.share=1",
      "athanor.run.queue-time=1h",
      "athanor.run.drain-linger=0s",
      "athanor.tensors.max-bytes=67108864",
      "athanor.grpc.max-tensor-bytes=33554432",
      "athanor.grpc.idle-timeout=1h",
      "spring.grpc.server.inbound.message.max-size=4MB"
    })
abstract class GrpcTest {

  @Autowired GrpcServerLifecycle server;
  @Autowired TestClock clock;
  @Autowired FakeDevice device;
  @Autowired TensorStore store;
  @Autowired StreamPool streams;

  private @Nullable ManagedChannel channel;

  @BeforeEach
  void connect() {
    channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", server.getPort(), InsecureChannelCredentials.create())
            .maxInboundMessageSize(64 << 20)
            .build();
  }

  @AfterEach
  void disconnect() {
    channel().shutdownNow();
    openGate();
  }

  /**
   * Returns the number of open buffers, one per tensor, once expired tensors are gone and earlier
   * calls have freed theirs.
   */
  int settledBuffers() {
    store.sweep();
    await().until(() -> device.openBuffers() == store.count());
    return store.count();
  }

  /** Releases all jobs at the gate of {@link TestOps.Identity}. */
  void openGate() {
    TestOps.Identity.openGate(streams);
  }

  ManagedChannel channel() {
    return Objects.requireNonNull(channel);
  }

  OpsGrpc.OpsBlockingStub ops() {
    return OpsGrpc.newBlockingStub(channel());
  }

  TensorsGrpc.TensorsBlockingStub tensors() {
    return TensorsGrpc.newBlockingStub(channel());
  }

  GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub inference() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel());
  }

  static ByteString bytes(float... values) {
    var buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      buffer.putFloat(value);
    }
    return ByteString.copyFrom(buffer.flip());
  }

  static TensorData data(float... values) {
    return TensorData.newBuilder()
        .setDtype("f32")
        .addShape(values.length)
        .setData(bytes(values))
        .build();
  }

  static InputTensor input(float... values) {
    return InputTensor.newBuilder().setInline(data(values)).build();
  }

  static InputTensor resident(String handle) {
    return InputTensor.newBuilder().setHandle(handle).build();
  }

  /** Returns a request that waits at the gate of {@link TestOps.Identity}. */
  static RunRequest gated() {
    return RunRequest.newBuilder()
        .setOp("identity")
        .putInputs("x", input(1, 2))
        .putAttributes("gate", AttributeValue.newBuilder().setFlag(true).build())
        .putOutputs("y", dev.athanor.api.v1.OutputTarget.newBuilder().setKeep(true).build())
        .build();
  }

  // -- uploads

  static PutRequest header(String dtype, long... shape) {
    return header(NewTensor.getDefaultInstance(), dtype, shape);
  }

  static PutRequest header(NewTensor options, String dtype, long... shape) {
    var header = PutHeader.newBuilder().setDtype(dtype).setCreate(options);
    for (long extent : shape) {
      header.addShape(extent);
    }
    return PutRequest.newBuilder().setHeader(header).build();
  }

  static PutRequest chunk(ByteString bytes) {
    return PutRequest.newBuilder().setChunk(bytes).build();
  }

  /** An upload in progress. */
  static final class Upload implements ClientResponseObserver<PutRequest, PutResponse> {
    final CompletableFuture<PutResponse> answer = new CompletableFuture<>();
    @Nullable ClientCallStreamObserver<PutRequest> call;

    @Override
    public void beforeStart(ClientCallStreamObserver<PutRequest> started) {
      call = started;
    }

    @Override
    public void onNext(PutResponse response) {
      answer.complete(response);
    }

    @Override
    public void onError(Throwable thrown) {
      answer.completeExceptionally(thrown);
    }

    @Override
    public void onCompleted() {}

    Tensor tensor() {
      try {
        return answer.join().getTensor();
      } catch (CompletionException e) {
        throw (RuntimeException) e.getCause();
      }
    }
  }

  Upload start(PutRequest... messages) {
    var upload = new Upload();
    StreamObserver<PutRequest> requests = TensorsGrpc.newStub(channel()).put(upload);
    for (var message : messages) {
      requests.onNext(message);
    }
    return upload;
  }

  Tensor put(PutRequest... messages) {
    var upload = start(messages);
    Objects.requireNonNull(upload.call).onCompleted();
    return upload.tensor();
  }

  String put(float... values) {
    return put(header("f32", values.length), chunk(bytes(values))).getHandle();
  }

  // -- errors

  /** An error as the client sees it. */
  record Refusal(
      Status.Code status,
      String message,
      String reason,
      Map<String, String> metadata,
      boolean mayRetry) {

    void is(Status.Code expected, String code, @Nullable String field, String expectedMessage) {
      assertThat(message).isEqualTo(expectedMessage);
      assertThat(status).isEqualTo(expected);
      assertThat(reason).isEqualTo(code);
      assertThat(metadata.get("field")).isEqualTo(field);
    }
  }

  static Refusal refusal(ThrowingCallable call) {
    return refusal(catchThrowable(call));
  }

  static Refusal refusal(@Nullable Throwable thrown) {
    assertThat(thrown).as("the error of the call").isNotNull();
    var status = Status.fromThrowable(Objects.requireNonNull(thrown));
    var details = StatusProto.fromThrowable(thrown);
    var reason = "";
    var metadata = Map.<String, String>of();
    boolean retry = false;
    try {
      for (Any detail : details == null ? java.util.List.<Any>of() : details.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          var info = detail.unpack(ErrorInfo.class);
          assertThat(info.getDomain()).isEqualTo("athanor");
          reason = info.getReason();
          metadata = info.getMetadataMap();
        } else {
          retry |= detail.is(RetryInfo.class);
        }
      }
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
    return new Refusal(
        status.getCode(), String.valueOf(status.getDescription()), reason, metadata, retry);
  }
}
