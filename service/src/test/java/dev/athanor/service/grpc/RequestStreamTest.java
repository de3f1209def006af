package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunStreamResponse;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.run.TestOps;
import io.grpc.CallOptions;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

class RequestStreamTest extends GrpcTest {

  @Autowired private InlineMemory inline;

  private static final class Responses implements StreamObserver<RunStreamResponse> {
    final LinkedBlockingQueue<RunStreamResponse> received = new LinkedBlockingQueue<>();
    final CompletableFuture<Status.Code> end = new CompletableFuture<>();

    @Override
    public void onNext(RunStreamResponse response) {
      received.add(response);
    }

    @Override
    public void onError(Throwable thrown) {
      end.complete(Status.fromThrowable(thrown).getCode());
    }

    @Override
    public void onCompleted() {
      end.complete(Status.Code.OK);
    }

    ByteString nextInline() throws InterruptedException {
      var response = received.take();
      assertThat(response.getError().getMessage()).isEmpty();
      return response.getResponse().getOutputsOrThrow("y").getInline().getData();
    }
  }

  private final Responses responses = new Responses();

  private StreamObserver<RunRequest> open() {
    return OpsGrpc.newStub(channel()).runStream(responses);
  }

  private static RunRequest.Builder identity(float... x) {
    return RunRequest.newBuilder().setOp("identity").putInputs("x", input(x));
  }

  @Test
  void respondsInOrder() throws InterruptedException {
    var requests = open();
    for (int i = 0; i < 100; i++) {
      requests.onNext(identity(i).build());
    }
    requests.onCompleted();
    for (int i = 0; i < 100; i++) {
      assertThat(responses.nextInline()).isEqualTo(data(i).getData());
    }
    assertThat(responses.end.join()).isEqualTo(Status.Code.OK);
    await().until(() -> inline.used() == 0);
  }

  @Test
  void failureConcernsOneRequest() throws InterruptedException, InvalidProtocolBufferException {
    var requests = open();
    requests.onNext(identity(1).build());
    requests.onNext(identity(2).setOp("sing").build());
    requests.onNext(identity(3).putOutputs("z", OutputTarget.getDefaultInstance()).build());
    requests.onNext(identity(4).build());
    requests.onCompleted();
    assertThat(responses.nextInline()).isEqualTo(data(1).getData());
    var unknown = responses.received.take().getError();
    assertThat(unknown.getCode()).isEqualTo(Status.Code.NOT_FOUND.value());
    assertThat(unknown.getMessage())
        .isEqualTo("Unknown op \"sing\". athanor.v1.Ops/List lists all ops.");
    var info = unknown.getDetails(0).unpack(ErrorInfo.class);
    assertThat(info.getReason()).isEqualTo("unknown-op");
    assertThat(info.getMetadataMap()).containsEntry("op", "sing");
    assertThat(responses.received.take().getError().getCode())
        .isEqualTo(Status.Code.INVALID_ARGUMENT.value());
    assertThat(responses.nextInline()).isEqualTo(data(4).getData());
    assertThat(responses.end.join()).isEqualTo(Status.Code.OK);
  }

  @Test
  void requestReadsWhatEarlierOnesWrite() throws InterruptedException {
    var x = put(0);
    var y = put(0);
    var requests = open();
    for (int i = 1; i <= 50; i++) {
      requests.onNext(identity(i).putOutputs("y", into(x)).build());
      requests.onNext(
          RunRequest.newBuilder()
              .setOp("identity")
              .putInputs("x", resident(x))
              .putOutputs("y", into(y))
              .build());
      requests.onNext(
          RunRequest.newBuilder().setOp("identity").putInputs("x", resident(y)).build());
    }
    requests.onCompleted();
    for (int i = 1; i <= 50; i++) {
      assertThat(responses.received.take().getError().getMessage()).isEmpty();
      assertThat(responses.received.take().getError().getMessage()).isEmpty();
      assertThat(responses.nextInline()).isEqualTo(data(i).getData());
    }
  }

  private static OutputTarget into(String handle) {
    return OutputTarget.newBuilder().setInto(handle).build();
  }

  @Test
  void startsRequestsWhileEarlierOnesRun() throws InterruptedException {
    TestOps.Identity.AT_GATE.set(0);
    var requests = open();
    requests.onNext(gated());
    requests.onNext(gated());
    await().until(() -> TestOps.Identity.AT_GATE.get() == 2);
    assertThat(responses.received).isEmpty();
    openGate();
    assertThat(responses.received.take().getError().getMessage()).isEmpty();
    assertThat(responses.received.take().getError().getMessage()).isEmpty();
  }

  /** The queue of this service holds two jobs, and its streams run two more. */
  @Test
  void waitsForEarlierRequestsIfTheQueueIsFull() throws InterruptedException {
    TestOps.Identity.AT_GATE.set(0);
    var requests = open();
    for (int i = 0; i < 40; i++) {
      requests.onNext(gated());
    }
    requests.onCompleted();
    await().until(() -> streams.busy() + streams.waiting() == 4);
    TestOps.Identity.GATE.release(40);
    for (int i = 0; i < 40; i++) {
      assertThat(responses.received.take().getError().getMessage()).isEmpty();
    }
    assertThat(responses.end.join()).isEqualTo(Status.Code.OK);
  }

  @Test
  void canceledStreamCancelsItsRequests() {
    TestOps.Identity.AT_GATE.set(0);
    var call = channel().newCall(OpsGrpc.getRunStreamMethod(), CallOptions.DEFAULT);
    var requests =
        (ClientCallStreamObserver<RunRequest>) ClientCalls.asyncBidiStreamingCall(call, responses);
    for (int i = 0; i < 4; i++) {
      requests.onNext(gated());
    }
    await().until(() -> streams.busy() + streams.waiting() == 4);
    requests.cancel("enough", null);
    await().until(() -> streams.waiting() == 0);
    openGate();
    await().until(() -> inline.used() == 0);
    await().until(() -> device.openBuffers() == store.count());
  }

  @Test
  void malformedMessageEndsTheStream() {
    var method = RawMessages.withRawRequests(OpsGrpc.getRunStreamMethod());
    var call = channel().newCall(method, CallOptions.DEFAULT);
    var requests = ClientCalls.asyncBidiStreamingCall(call, responses);
    requests.onNext(new byte[] {(byte) 0xff, (byte) 0xff, (byte) 0xff});
    assertThat(responses.end.join()).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }
}
