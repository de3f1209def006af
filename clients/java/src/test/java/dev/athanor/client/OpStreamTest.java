package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.DeleteResponse;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.OutputTensor;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.RunStreamResponse;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.testing.TestTier;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests streams of calls with a service that answers when a test tells it to, and a live one. */
class OpStreamTest {

  private static final HostTensor PAIR = HostTensor.of(new float[] {1, -2});

  /** A service that holds the requests of one stream. */
  private static final class Service implements AutoCloseable {
    final List<RunRequest> requests = new CopyOnWriteArrayList<>();
    final List<String> deleted = new CopyOnWriteArrayList<>();
    final AtomicReference<StreamObserver<RunStreamResponse>> client = new AtomicReference<>();
    final CountDownLatch cancelled = new CountDownLatch(1);
    private final AtomicInteger answered = new AtomicInteger();
    private final Server server;

    /**
     * @param reads whether the service reads requests
     */
    Service(boolean reads) {
      var ops =
          new OpsGrpc.OpsImplBase() {
            @Override
            public StreamObserver<RunRequest> runStream(
                StreamObserver<RunStreamResponse> responses) {
              if (!reads) {
                ((ServerCallStreamObserver<?>) responses).disableAutoRequest();
              }
              client.set(responses);
              return new StreamObserver<>() {
                @Override
                public void onNext(RunRequest request) {
                  requests.add(request);
                }

                @Override
                public void onError(Throwable gone) {
                  cancelled.countDown();
                }

                @Override
                public void onCompleted() {
                  while (answered.get() < requests.size()) {
                    answer();
                  }
                  responses.onCompleted();
                }
              };
            }
          };
      var tensors =
          new TensorsGrpc.TensorsImplBase() {
            @Override
            public void delete(DeleteRequest request, StreamObserver<DeleteResponse> response) {
              deleted.add(request.getHandle());
              response.onNext(DeleteResponse.getDefaultInstance());
              response.onCompleted();
            }
          };
      try {
        server =
            NettyServerBuilder.forAddress(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(ops)
                .addService(tensors)
                .build()
                .start();
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    String url() {
      return "grpc://127.0.0.1:" + server.getPort();
    }

    Service awaitRequests(int count) {
      Waiting.until(() -> requests.size() >= count);
      return this;
    }

    /** Answers the next request with its input, which it keeps under a new handle if required. */
    void answer() {
      int index = answered.getAndIncrement();
      var request = requests.get(index);
      var x = request.getInputsOrThrow("x").getInline();
      var output = OutputTensor.newBuilder();
      if (request.getOutputsOrDefault("y", OutputTarget.getDefaultInstance()).getKeep()) {
        output.setResident(
            Tensor.newBuilder()
                .setHandle("t_" + index)
                .setDtype(x.getDtype())
                .addAllShape(x.getShapeList()));
      } else {
        output.setInline(x);
      }
      client
          .get()
          .onNext(
              RunStreamResponse.newBuilder()
                  .setResponse(
                      RunResponse.newBuilder()
                          .setDevice("emulator:0")
                          .setKernel("relu")
                          .setTiming(dev.athanor.api.v1.Timing.newBuilder().setKernelMicros(2))
                          .putOutputs("y", output.build()))
                  .build());
    }

    void refuse() {
      answered.getAndIncrement();
      var info = ErrorInfo.newBuilder().setDomain("athanor").setReason("shape-mismatch");
      info.putMetadata("field", "inputs.x");
      client
          .get()
          .onNext(
              RunStreamResponse.newBuilder()
                  .setError(
                      Status.newBuilder()
                          .setCode(io.grpc.Status.Code.INVALID_ARGUMENT.value())
                          .setMessage("Said so.")
                          .addDetails(Any.pack(info.build())))
                  .build());
    }

    @Override
    public void close() {
      server.shutdownNow();
    }
  }

  private static AthanorException failure(ThrowingCallable call) {
    return assertThatExceptionOfType(AthanorException.class).isThrownBy(call).actual();
  }

  private static AthanorException failure(CompletableFuture<?> call) {
    return failure(() -> Futures.await(call));
  }

  private static OpCall relu() {
    return OpCall.of("relu").input("x", PAIR).output("y");
  }

  @Test
  void completesCallsInOrderAndGoesOnAfterAnError() {
    var outcomes = new CopyOnWriteArrayList<String>();
    try (var service = new Service(true);
        var athanor =
            Athanor.builder(service.url())
                .listener((op, outcome, duration) -> outcomes.add(op + " " + outcome))
                .build();
        var stream = athanor.stream()) {
      var timings = new ArrayList<Timing>();
      var executions = new ArrayList<Execution>();
      var completed = new CopyOnWriteArrayList<Integer>();
      var first = stream.inline().run(relu().timing(timings::add).execution(executions::add));
      var second = stream.inline().relu(PAIR);
      var third = stream.inline().relu(PAIR);
      Futures.on(third, (y, failure) -> completed.add(3));
      Futures.on(second, (y, failure) -> completed.add(2));
      Futures.on(first, (y, failure) -> completed.add(1));
      service.awaitRequests(3);
      service.answer();
      service.refuse();
      service.answer();
      assertThat(Futures.await(third).toFloats()).containsExactly(1, -2);
      assertThat(completed).containsExactly(1, 2, 3);
      assertThat(outcomes).containsExactly("relu ok", "relu shape-mismatch", "relu ok");
      var refusal = failure(second);
      assertThat(refusal.status()).isEqualTo(400);
      assertThat(refusal.detail()).isEqualTo("Said so.");
      assertThat(refusal.field()).contains("inputs.x");
      assertThat(timings)
          .singleElement()
          .satisfies(timing -> assertThat(timing.kernel()).isEqualTo(Duration.ofNanos(2000)));
      assertThat(executions).containsExactly(new Execution("emulator:0", "relu"));
    }
  }

  /** Makes calls in a thread, until one fails. */
  private static Thread caller(OpStream stream, HostTensor x, AtomicInteger calls) {
    var thread =
        new Thread(() -> {
          try {
            while (true) {
              Futures.on(stream.inline().relu(x), (y, failure) -> {});
              calls.incrementAndGet();
            }
          } catch (AthanorException closed) {
            // the test ends
          }
        });
    thread.start();
    return thread;
  }

  private static boolean isBlocked(Thread thread) {
    return thread.getState() == Thread.State.WAITING;
  }

  @Test
  void blocksWhileTooManyCallsAreUnanswered() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream()) {
      var calls = new AtomicInteger();
      var caller = caller(stream, PAIR, calls);
      service.awaitRequests(RunStream.WINDOW);
      Waiting.until(() -> calls.get() == RunStream.WINDOW && isBlocked(caller));
      assertThat(service.requests).hasSize(RunStream.WINDOW);
      service.answer();
      service.awaitRequests(RunStream.WINDOW + 1);
      Waiting.until(() -> calls.get() == RunStream.WINDOW + 1 && isBlocked(caller));
      assertThat(service.requests).hasSize(RunStream.WINDOW + 1);
    }
  }

  @Test
  void blocksWhileTheServiceDoesNotReadRequests() throws InterruptedException {
    try (var service = new Service(false)) {
      var athanor = Athanor.connect(service.url());
      var calls = new AtomicInteger();
      var caller = caller(athanor.stream(), HostTensor.of(new float[1 << 18]), calls);
      Waiting.until(() -> calls.get() > 1 && isBlocked(caller));
      assertThat(calls.get()).isLessThan(RunStream.WINDOW);
      athanor.close();
      caller.join();
    }
  }

  @Test
  void interruptsABlockedCall() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream()) {
      Futures.on(stream.relu(PAIR), (y, failure) -> {});
      Thread.currentThread().interrupt();
      var failure =
          failure(() -> {
            while (true) {
              Futures.on(stream.relu(PAIR), (y, lost) -> {});
            }
          });
      assertThat(failure.code()).isEqualTo("interrupted");
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void closingWaitsForResults() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url())) {
      var stream = athanor.stream();
      var calls = List.of(stream.inline().relu(PAIR), stream.inline().relu(PAIR));
      stream.close();
      assertThat(calls)
          .allSatisfy(call -> assertThat(call.getNow(HostTensor.scalar(0)).toFloats()).hasSize(2));
      var failure = failure(() -> stream.inline().relu(PAIR));
      assertThat(failure.code()).isEqualTo("closed");
      assertThat(failure.detail()).isEqualTo("The stream is closed.");
      stream.close();
    }
  }

  @Test
  void closingTheClientFailsUnansweredCalls() {
    try (var service = new Service(true)) {
      var athanor = Athanor.connect(service.url());
      var stream = athanor.stream();
      var call = stream.relu(PAIR);
      athanor.close();
      assertThat(failure(call).code()).isEqualTo("closed");
      assertThat(failure(() -> stream.relu(PAIR)).detail()).isEqualTo("The stream is closed.");
      stream.close();
      assertThat(failure(athanor::stream).detail()).isEqualTo("The client is closed.");
    }
  }

  @Test
  void interruptingCloseFailsUnansweredCalls() {
    try (var service = new Service(false);
        var athanor = Athanor.connect(service.url())) {
      var stream = athanor.stream();
      var call = stream.relu(PAIR);
      Thread.currentThread().interrupt();
      stream.close();
      assertThat(Thread.interrupted()).isTrue();
      assertThat(failure(call).code()).isEqualTo("interrupted");
    }
  }

  @Test
  void aLostConnectionEndsTheStream() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream()) {
      var calls = List.of(stream.relu(PAIR), stream.relu(PAIR));
      service.awaitRequests(2).client.get().onError(io.grpc.Status.UNAVAILABLE.asException());
      for (var call : calls) {
        assertThat(failure(call).code()).isEqualTo("connection-lost");
      }
      var later = failure(() -> stream.relu(PAIR));
      assertThat(later.code()).isEqualTo("connection-lost");
      assertThat(later.detail())
          .startsWith(
              "The stream has ended; open another with stream(). The connection was lost: ");
    }
  }

  @Test
  void failsACallToAnUnreachableService() {
    var service = new Service(true);
    var url = service.url();
    service.close();
    try (var athanor = Athanor.connect(url);
        var stream = athanor.stream()) {
      var failure = failure(() -> stream.relu(PAIR));
      assertThat(failure.code()).isEqualTo("unreachable");
      assertThat(failure.detail()).contains("The service at %s cannot".formatted(url));
    }
  }

  @Test
  void anUnexpectedResponseEndsTheStream() throws InterruptedException {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream()) {
      var call = stream.inline().relu(PAIR);
      service.awaitRequests(1).answer();
      Futures.await(call);
      service.refuse();
      service.cancelled.await();
      assertThat(failure(() -> stream.relu(PAIR)).detail())
          .endsWith("The response is malformed: it belongs to no call");
    }
  }

  @Test
  void failsUnansweredCallsIfTheServiceEndsTheStream() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream()) {
      var call = stream.relu(PAIR);
      service.awaitRequests(1).client.get().onCompleted();
      assertThat(failure(call).detail()).isEqualTo("The service ended the stream.");
    }
  }

  @Test
  void cancellingDiscardsOneResult() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream()) {
      var first = stream.relu(PAIR);
      var second = stream.relu(PAIR);
      first.cancel(true);
      service.awaitRequests(2).answer();
      service.answer();
      try (var y = Futures.await(second)) {
        assertThat(y.shape()).containsExactly(2L);
      }
      assertThatExceptionOfType(CancellationException.class).isThrownBy(first::join);
      Waiting.until(() -> service.deleted.size() == 2);
    }
  }

  @Test
  void rejectsWhatAStreamCannotDo() {
    try (var service = new Service(true);
        var athanor = Athanor.connect(service.url());
        var stream = athanor.stream();
        var http = Athanor.connect(service.url().replace("grpc", "http"))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.relu(PAIR, o -> o.deadline(Duration.ofSeconds(1))))
          .withMessage(
              "The call of relu has a deadline, but calls of a stream cannot have one; call relu on the client itself.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> stream.relu(PAIR, o -> o.priority(2)))
          .withMessageStartingWith("The call of relu has a priority, but ");
      assertThatExceptionOfType(UnsupportedOperationException.class)
          .isThrownBy(http::stream)
          .withMessage(
              "A stream of calls needs gRPC; connect to the service's grpc:// or grpcs:// URL.");
      var first = stream.inline().relu(PAIR);
      var dependent = Futures.map(first, y -> Futures.await(stream.inline().relu(y)));
      var asynchronous = first.thenComposeAsync(y -> stream.inline().relu(y));
      service.awaitRequests(1).answer();
      assertThatIllegalStateException()
          .isThrownBy(() -> Futures.await(dependent))
          .withMessage(
              "A dependent stage of a stream's future must not call the stream; use an asynchronous stage, such as thenComposeAsync.");
      service.awaitRequests(2).answer();
      assertThat(Futures.await(asynchronous).toFloats()).containsExactly(1, -2);
    }
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void runsDependentCallsInOrderOnALiveService() {
    try (var athanor = Athanor.connect(LiveService.grpc());
        var sum = athanor.upload(HostTensor.of(new float[] {0, 0}));
        var stream = athanor.stream()) {
      var sums = new ArrayList<CompletableFuture<HostTensor>>();
      for (int i = 0; i < RunStream.WINDOW; i++) {
        Futures.on(stream.add(sum, PAIR, o -> o.intoY(sum)), (y, failure) -> {});
        sums.add(stream.inline().scale(sum, o -> o.factor(1)));
      }
      var refused = stream.add(PAIR, HostTensor.of(new float[3]));
      var kept = stream.relu(sum);
      for (int i = 0; i < sums.size(); i++) {
        assertThat(Futures.await(sums.get(i)).toFloats()).containsExactly(i + 1, -2 * (i + 1));
      }
      assertThat(sum.version()).isEqualTo(1 + sums.size());
      var refusal = failure(refused);
      assertThat(refusal.code()).isEqualTo("shape-mismatch");
      assertThat(refusal.status()).isEqualTo(400);
      assertThat(refusal.op()).contains("add");
      try (var y = Futures.await(kept)) {
        assertThat(y.download().toFloats()).containsExactly(sums.size(), 0);
      }
    }
  }
}
