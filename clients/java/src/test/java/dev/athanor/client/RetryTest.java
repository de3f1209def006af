package dev.athanor.client;

import static dev.athanor.client.FakeServer.TENSOR;
import static dev.athanor.client.FakeServer.disconnect;
import static dev.athanor.client.FakeServer.json;
import static dev.athanor.client.FakeServer.problem;
import static dev.athanor.client.FakeServer.silence;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.DescribeResponse;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorsGrpc;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Tests how the client handles failures, with a fake server. */
class RetryTest {

  private static final HostTensor PAIR = HostTensor.of(new float[] {1, 2});

  private static final String KEPT =
      """
      {"outputs": {"y": {"handle": "t_01_0", "dtype": "f32", "shape": [2], "bytes": 8, "version": 2}}}
      """;

  private static AthanorException failure(ThrowingCallable call) {
    return assertThatExceptionOfType(AthanorException.class).isThrownBy(call).actual();
  }

  @Test
  void retriesAFullQueueAfterTheRequestedDelay() {
    try (var server =
            new FakeServer(problem(429, "queue-full", "", "Retry-After", "1"), json(200, TENSOR));
        var athanor = Athanor.connect(server.url())) {
      long began = System.nanoTime();
      athanor.attach("t_00_0");
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(Duration.ofSeconds(1));
      assertThat(server.requests).hasSize(2);
    }
  }

  @Test
  void givesUpAfterTheRetryLimit() {
    try (var server = new FakeServer(problem(503, "draining", ""));
        var athanor = Athanor.builder(server.url()).maxRetries(2).build()) {
      var failure = failure(() -> athanor.attach("t_00_0"));
      assertThat(failure.code()).isEqualTo("draining");
      assertThat(failure.status()).isEqualTo(503);
      assertThat(server.requests).hasSize(3);
    }
  }

  @Test
  void doesNotWaitBeyondTheDeadlineOrTooLong() {
    try (var server = new FakeServer(problem(429, "quota-exceeded", "", "Retry-After", "7200"));
        var athanor = Athanor.builder(server.url()).deadline(Duration.ofHours(1)).build()) {
      var failure = failure(() -> athanor.upload(PAIR));
      assertThat(failure.retryAfter()).contains(Duration.ofHours(2));
      assertThat(server.requests).hasSize(1);
    }
  }

  @Test
  void doesNotRetryPermanentFailures() {
    try (var server =
            new FakeServer(
                problem(503, "device-lost", "", "Retry-After", "5"),
                problem(
                    400,
                    "shape-mismatch",
                    ", \"op\": \"relu\", \"field\": \"inputs.x\", \"step\": 2, \"traceId\": \"ab\""),
                json(502, "<html>"));
        var athanor = Athanor.connect(server.url())) {
      assertThat(failure(() -> athanor.relu(PAIR)).code()).isEqualTo("device-lost");
      var refusal = failure(() -> athanor.relu(PAIR));
      assertThat(refusal.detail()).isEqualTo("Said so.");
      assertThat(refusal.op()).contains("relu");
      assertThat(refusal.field()).contains("inputs.x");
      assertThat(refusal.step()).hasValue(2);
      assertThat(refusal.traceId()).contains("ab");
      var proxy = failure(() -> athanor.relu(PAIR));
      assertThat(proxy.code()).isEqualTo("http-502");
      assertThat(proxy.detail()).isEqualTo("The service responded with status 502.");
      assertThat(server.requests).hasSize(3);
    }
  }

  @Test
  void retriesCallsThatCreateTensorsWithOneIdempotencyKey() {
    try (var server = new FakeServer(disconnect(), json(200, KEPT), json(204, ""));
        var athanor = Athanor.connect(server.url())) {
      athanor.relu(PAIR).close();
      var calls = server.requests.stream().filter(r -> r.method().equals("POST")).toList();
      assertThat(calls).hasSize(2);
      var keys =
          new HashSet<>(calls.stream().map(r -> r.headers().get("idempotency-key")).toList());
      assertThat(keys).hasSize(1).doesNotContainNull();
    }
  }

  @Test
  void sendsNoIdempotencyKeyWithCallsThatCreateNothing() {
    try (var server = new FakeServer(problem(400, "shape-mismatch", ""));
        var athanor = Athanor.connect(server.url())) {
      failure(() -> athanor.inline().relu(PAIR));
      assertThat(server.requests.get(0).headers()).doesNotContainKey("idempotency-key");
    }
  }

  @Test
  void retriesACreationWithOneIdempotencyKeyAfterALostConnection() {
    try (var server = new FakeServer(disconnect(), json(201, TENSOR), json(204, ""));
        var athanor = Athanor.connect(server.url())) {
      athanor.upload(PAIR).close();
      var keys = new HashSet<String>();
      var creations = server.requests.stream().filter(r -> r.method().equals("POST")).toList();
      creations.forEach(r -> keys.add(String.valueOf(r.headers().get("idempotency-key"))));
      assertThat(creations).hasSize(2);
      assertThat(keys).hasSize(1).doesNotContain("null");
    }
  }

  @Test
  void retriesAnInPlaceWriteWithOneIdempotencyKeyAfterALostConnection() {
    try (var server = new FakeServer(json(200, TENSOR), disconnect(), json(200, KEPT));
        var athanor = Athanor.builder(server.url()).build()) {
      var tensor = athanor.attach("t_00_0");
      athanor.add(tensor, tensor, o -> o.intoY(tensor));
      var keys = new HashSet<String>();
      server.requests.stream()
          .skip(1)
          .forEach(r -> keys.add(String.valueOf(r.headers().get("idempotency-key"))));
      assertThat(server.requests).hasSize(3);
      assertThat(keys).hasSize(1).doesNotContain("null");
    }
  }

  @Test
  void doesNotRetryAnUpdateThatAlsoReturnsValuesAfterALostConnection() {
    try (var server = new FakeServer(json(200, TENSOR), disconnect());
        var athanor = Athanor.builder(server.url()).build()) {
      var tensor = athanor.attach("t_00_0");
      var pipeline = athanor.pipeline();
      var sum = pipeline.add(tensor, tensor);
      pipeline.into(sum, tensor).inline(pipeline.relu(sum));
      var failure = failure(pipeline::run);
      assertThat(failure.code()).isEqualTo("connection-lost");
      assertThat(failure.status()).isZero();
      assertThat(server.requests).hasSize(2);
      assertThat(server.requests.get(1).headers()).doesNotContainKey("idempotency-key");
    }
  }

  @Test
  void retriesAPureCallAfterALostConnection() {
    try (var server = new FakeServer(disconnect(), json(200, KEPT), json(204, ""));
        var athanor = Athanor.connect(server.url());
        var y = athanor.relu(PAIR)) {
      assertThat(y.handle()).isEqualTo("t_01_0");
      assertThat(server.requests).hasSize(2);
    }
  }

  @Test
  void reportsAnUnreachableService() {
    String url;
    try (var server = new FakeServer(json(200, "{}"))) {
      url = server.url();
    }
    for (var address : List.of(url, url.replace("http", "grpc"))) {
      try (var athanor = Athanor.builder(address).maxRetries(1).build()) {
        var failure = failure(() -> athanor.relu(PAIR));
        assertThat(failure.code()).isEqualTo("unreachable");
        assertThat(failure.detail())
            .startsWith("The service at %s cannot be reached: ".formatted(address))
            .doesNotContain("Exception");
      }
    }
  }

  @Test
  void followsAWrongReplicaOnce() {
    var wrong = problem(421, "wrong-replica", ", \"replica\": \"1\"");
    try (var second = new FakeServer(json(200, TENSOR), wrong);
        var first = new FakeServer(wrong);
        var athanor = Athanor.builder(first.url()).replica("athanor-1", second.url()).build()) {
      assertThat(athanor.attach("t_00_1").handle()).isEqualTo("t_00_1");
      assertThat(second.requests).hasSize(1);
      var failure = failure(() -> athanor.attach("t_00_1"));
      assertThat(failure.replica()).contains("1");
      assertThat(failure.status()).isEqualTo(421);
      assertThat(first.requests).hasSize(2);
      assertThat(second.requests).hasSize(2);
    }
  }

  /** A gRPC server that describes tensors. */
  private static Server grpc(Describing answer) throws IOException {
    var service =
        new TensorsGrpc.TensorsImplBase() {
          @Override
          public void describe(DescribeRequest request, StreamObserver<DescribeResponse> observer) {
            answer.send(observer);
          }
        };
    return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
        .addService(service)
        .build()
        .start();
  }

  private interface Describing {
    void send(StreamObserver<DescribeResponse> observer);
  }

  private static StatusRuntimeException refusal(
      io.grpc.Status.Code status, ErrorInfo.Builder info) {
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder()
            .setCode(status.value())
            .setMessage("Said so.")
            .addDetails(Any.pack(info.setDomain("athanor").build()))
            .build());
  }

  @Test
  void followsTheOwnerOfANameOverGrpc() throws IOException {
    var wrong =
        refusal(
            io.grpc.Status.Code.FAILED_PRECONDITION,
            ErrorInfo.newBuilder().setReason("wrong-replica").putMetadata("replica", "1"));
    var owner =
        grpc(observer -> {
          observer.onNext(
              DescribeResponse.newBuilder()
                  .setTensor(Tensor.newBuilder().setHandle("t_00_1").setDtype("f32"))
                  .build());
          observer.onCompleted();
        });
    var first = grpc(observer -> observer.onError(wrong));
    var url = "grpc://127.0.0.1:";
    try (var athanor =
            Athanor.builder(url + first.getPort()).replica("1", url + owner.getPort()).build();
        var unaware = Athanor.connect(url + first.getPort())) {
      assertThat(athanor.attach("w").describe().handle()).isEqualTo("t_00_1");
      var failure = failure(() -> unaware.attach("w"));
      assertThat(failure.code()).isEqualTo("wrong-replica");
      assertThat(failure.status()).isEqualTo(421);
      assertThat(failure.replica()).contains("1");
    } finally {
      first.shutdownNow();
      owner.shutdownNow();
    }
  }

  @Test
  void retriesOverGrpcWhileTheOwnerIsUnavailable() throws IOException {
    var unavailable =
        refusal(
            io.grpc.Status.Code.UNAVAILABLE,
            ErrorInfo.newBuilder().setReason("replica-unavailable"));
    var attempts = new AtomicInteger();
    var server =
        grpc(observer -> {
          attempts.incrementAndGet();
          observer.onError(unavailable);
        });
    try (var athanor =
        Athanor.builder("grpc://127.0.0.1:" + server.getPort()).maxRetries(1).build()) {
      var failure = failure(() -> athanor.attach("w"));
      assertThat(failure.status()).isEqualTo(503);
      assertThat(attempts).hasValue(2);
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  void reportsAReplicaWithoutAConfiguredUrl() {
    try (var server = new FakeServer(problem(421, "wrong-replica", ", \"replica\": \"7\""));
        var athanor = Athanor.connect(server.url())) {
      assertThat(failure(() -> athanor.attach("t_00_7")).replica()).contains("7");
    }
  }

  @Test
  void sendsCredentialsHeadersDeadlineAndPriority() {
    try (var server = new FakeServer(json(200, KEPT));
        var athanor =
            Athanor.builder(server.url() + "/prefix/")
                .apiKey("key")
                .bearerToken(() -> "token")
                .header("X-Request-Source", "nightly")
                .deadline(Duration.ofHours(2))
                .build()) {
      athanor.relu(PAIR, o -> o.priority(2).deadline(Duration.ofHours(1))).detach();
      var request = server.requests.get(0);
      assertThat(request.path()).isEqualTo("/prefix/ops/relu?y=handle");
      assertThat(request.headers())
          .containsEntry("x-api-key", "key")
          .containsEntry("authorization", "Bearer token")
          .containsEntry("x-request-source", "nightly")
          .containsEntry("x-priority", "2");
      assertThat(Long.parseLong(request.headers().get("x-deadline-ms"))).isBetween(1L, 3_600_000L);
    }
  }

  @Test
  void cancelsACall() throws InterruptedException {
    var began = new CountDownLatch(1);
    var outcomes = new CopyOnWriteArrayList<String>();
    try (var server = new FakeServer(silence(began));
        var athanor =
            Athanor.builder(server.url())
                .listener((op, outcome, duration) -> outcomes.add(op + " " + outcome))
                .build()) {
      var call = athanor.async().relu(PAIR);
      began.await();
      call.cancel(true);
      assertThatExceptionOfType(CancellationException.class).isThrownBy(call::join);
      Waiting.until(() -> outcomes.contains("relu cancelled"));
    }
  }

  @Test
  void failsACallAtItsDeadline() {
    try (var server = new FakeServer(silence(new CountDownLatch(1)));
        var athanor = Athanor.builder(server.url()).deadline(Duration.ofMillis(200)).build()) {
      assertThat(failure(() -> athanor.relu(PAIR)).code()).isEqualTo("deadline-exceeded");
    }
  }

  @Test
  void closingFailsCallsInFlight() throws InterruptedException {
    var began = new CountDownLatch(1);
    try (var server = new FakeServer(silence(began))) {
      var athanor = Athanor.connect(server.url());
      var call = athanor.async().relu(PAIR);
      began.await();
      athanor.close();
      assertThat(failure(() -> Futures.await(call)).code()).isEqualTo("closed");
    }
  }

  @Test
  void freesATensorThatWasNotClosed() {
    try (var server = new FakeServer(json(201, TENSOR), json(204, ""));
        var athanor = Athanor.connect(server.url())) {
      assertThat(athanor.upload(PAIR).version()).isEqualTo(1);
      Waiting.until(() -> {
        System.gc();
        return server.requests.stream().anyMatch(r -> r.method().equals("DELETE"));
      });
    }
  }

  @Test
  void rejectsMalformedResponses() {
    try (var server =
            new FakeServer(
                json(200, "no json"),
                json(200, "{\"outputs\": {}}"),
                json(200, "\u0001", "Content-Type", "application/x-safetensors"));
        var athanor = Athanor.connect(server.url())) {
      assertThat(failure(() -> athanor.attach("t_00_0")).code()).isEqualTo("malformed-answer");
      assertThat(failure(() -> athanor.relu(PAIR)).detail())
          .isEqualTo("The response is malformed: output `y` is missing");
      assertThat(failure(() -> athanor.inline().relu(PAIR)).detail())
          .isEqualTo("The response is malformed: the safetensors header is incomplete");
    }
  }

  @Test
  void rejectsInvalidArguments() {
    for (var url : List.of("localhost:8080", "127.0.0.1:8080", "http://")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Athanor.connect(url))
          .withMessage(
              "The URL must be http://HOST:PORT, https://, grpc:// or grpcs://, not %s.", url);
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HostTensor.of(new float[] {1, 2, 3}, 2, 2))
        .withMessage("A tensor of f32 [2, 2] has 16 bytes, not 12.");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HostTensor.of(new float[] {}, -1))
        .withMessage("Extents must be at least 0, not [-1].");
  }
}
