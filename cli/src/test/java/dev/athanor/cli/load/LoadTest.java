package dev.athanor.cli.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.DescribeResponse;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.GetResponse;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.client.AthanorException;
import dev.athanor.ops.Catalogue;
import dev.athanor.testing.TestTier;
import dev.athanor.testing.Timeouts;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Load on services that misbehave in known ways. */
@Tag(TestTier.THOROUGH_TAG)
class LoadTest {

  private static final byte[] TENSOR =
      """
      {"handle": "t_1", "dtype": "u8", "shape": [64], "bytes": 64}
      """
          .getBytes(StandardCharsets.UTF_8);
  private static final Duration NONE = Duration.ZERO;

  /** Handles one request at a time, like a service with one worker. */
  private final ExecutorService worker = Executors.newSingleThreadExecutor();

  private final AtomicInteger gets = new AtomicInteger();
  private HttpServer server;
  private Server grpc;
  private volatile @Nullable StatusException grpcFails;
  private Target target;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
    server.setExecutor(worker);
    grpc =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new Zeros())
            .build()
            .start();
    target =
        new Target(
            URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
            "127.0.0.1:" + grpc.getPort(),
            Map.of("X-Key", "k"));
  }

  @AfterEach
  void stop() {
    target.close();
    server.stop(0);
    grpc.shutdownNow();
    worker.shutdownNow();
  }

  /** Returns 64 zeros for every tensor, or fails with {@link #grpcFails}. */
  private final class Zeros extends TensorsGrpc.TensorsImplBase {
    @Override
    public void describe(DescribeRequest request, StreamObserver<DescribeResponse> answer) {
      var tensor = Tensor.newBuilder().setHandle(request.getHandle()).setDtype("u8");
      answer.onNext(
          DescribeResponse.newBuilder().setTensor(tensor.addShape(64).setBytes(64)).build());
      answer.onCompleted();
    }

    @Override
    public void get(GetRequest request, StreamObserver<GetResponse> answer) {
      gets.incrementAndGet();
      if (grpcFails != null) {
        answer.onError(grpcFails);
        return;
      }
      answer.onNext(GetResponse.newBuilder().setChunk(ByteString.copyFrom(new byte[64])).build());
      answer.onCompleted();
    }
  }

  private interface Answer {
    void to(HttpExchange exchange, byte[] stored) throws IOException;
  }

  /** Serves one tensor. The test's handler answers each GET. */
  private void serve(Answer answer) {
    var stored = new byte[1][];
    server.createContext(
        "/tensors",
        exchange -> {
          try (exchange) {
            assertThat(exchange.getRequestHeaders().getFirst("X-Key")).isEqualTo("k");
            switch (exchange.getRequestMethod()) {
              case "GET" -> {
                gets.incrementAndGet();
                answer.to(exchange, stored[0]);
              }
              case "DELETE" -> exchange.sendResponseHeaders(204, -1);
              default -> {
                stored[0] = exchange.getRequestBody().readAllBytes();
                send(exchange, 201, TENSOR);
              }
            }
          }
        });
    server.start();
  }

  private static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
  }

  private static MeasurementPlan once(double seconds, boolean honorsRetryAfter) {
    var length = Duration.ofNanos(Math.round(seconds * 1e9));
    return new MeasurementPlan(NONE, length, Optional.of(length), 10, 0.1, honorsRetryAfter, 1);
  }

  private Measurement load(MeasurementPlan plan, Level level) throws InterruptedException {
    return load("get 64B", plan, level);
  }

  private Measurement load(String text, MeasurementPlan plan, Level level)
      throws InterruptedException {
    var scenario = new Scenarios(new Catalogue(List.of()), false, 1).parse(text);
    return new Load(target, plan).run(scenario, level, (_, _) -> {});
  }

  @Test
  void detectsAWrongByte() throws InterruptedException {
    serve((exchange, stored) -> {
      var wrong = stored.clone();
      wrong[63] ^= 1;
      send(exchange, 200, wrong);
    });
    var seen = load(once(0.1, false), new Level.Clients(1));
    assertThat(seen.correct()).isFalse();
    assertThat(seen.wrong()).isEqualTo(seen.checked()).isGreaterThan(1);
    assertThat(seen.requests()).isPositive();
  }

  @Test
  void detectsWrongBytesOverGrpc() throws InterruptedException {
    serve((exchange, stored) -> send(exchange, 200, stored));
    var seen = load("get-grpc 64B", once(0.1, false), new Level.Clients(1));
    // the check of the resident tensor uses REST, which returns correct bytes here
    assertThat(seen.wrong()).isEqualTo(seen.checked() - 1).isPositive();
    assertThat(seen.requests()).isPositive();
  }

  private static StatusException refusal(com.google.protobuf.Message... details) {
    var status = com.google.rpc.Status.newBuilder().setCode(Status.Code.UNAVAILABLE.value());
    for (var detail : details) {
      status.addDetails(Any.pack(detail));
    }
    return StatusProto.toStatusException(status.build());
  }

  @Test
  void countsGrpcFailuresByCodeAndHonorsTheirRetryDelay() throws InterruptedException {
    serve((exchange, stored) -> send(exchange, 200, stored));
    var delay = com.google.protobuf.Duration.newBuilder().setSeconds(60);
    grpcFails =
        refusal(
            ErrorInfo.newBuilder().setReason("draining").setDomain("athanor").build(),
            RetryInfo.newBuilder().setRetryDelay(delay).build());
    // the response arrives after the window ends and is still counted
    var seen = load("get-grpc 64B", once(0, true), new Level.Clients(1));
    assertThat(seen.errors()).isEqualTo(Map.of("draining", 1L));
    assertThat(seen.correct()).isFalse();
    // one request by gRPC and one to check the resident tensor
    assertThat(gets).hasValue(2);
  }

  @Test
  void eachClientSendsARequestInTheShortestWindow() throws InterruptedException {
    serve((exchange, stored) -> send(exchange, 200, stored));
    var seen = load(once(0, false), new Level.Clients(3));
    assertThat(seen.requests()).isGreaterThanOrEqualTo(3);
    assertThat(seen.correct()).isTrue();
  }

  @Test
  void countsTransportFailuresOfGrpcAsNoAnswer() throws InterruptedException {
    serve((exchange, stored) -> send(exchange, 200, stored));
    grpcFails = refusal();
    var seen = load("get-grpc 64B", once(0.1, false), new Level.Clients(1));
    assertThat(seen.errors()).containsOnlyKeys("no-answer");
  }

  /** Rejects every other GET, but not the one that checks the resident tensor. */
  private void rejectEveryOtherGet(String retryAfter) {
    serve((exchange, stored) -> {
      if (gets.get() % 2 == 1 && gets.get() < 1000) {
        exchange.getResponseHeaders().set("Retry-After", retryAfter);
        var problem = "{\"type\": \"urn:athanor:problem:queue-full\"}";
        send(exchange, 429, problem.getBytes(StandardCharsets.UTF_8));
      } else {
        send(exchange, 200, stored);
      }
    });
  }

  @Test
  void countsRejectionsByCodeAndNotAsResults() throws Exception {
    rejectEveryOtherGet("0");
    var scenario = new Scenarios(new Catalogue(List.of()), false, 1).parse("get 64B");
    var ready = scenario.prepare(target, 1);
    var window = new Window();
    for (int i = 0; i < 4; i++) {
      try {
        window.add(1000, ready.send(0, true).phases());
      } catch (AthanorException e) {
        window.failed(RequestFailure.of(e).code());
      }
    }
    assertThat(window.errors()).isEqualTo(Map.of("queue-full", 2L));
    assertThat(window.requests()).isEqualTo(2);
  }

  @Test
  void clientsHonorRetryAfter() throws InterruptedException {
    serve((exchange, stored) -> {
      if (gets.get() == 1) {
        exchange.getResponseHeaders().set("Retry-After", "60");
        send(exchange, 503, "{}".getBytes(StandardCharsets.UTF_8));
      } else {
        send(exchange, 200, stored);
      }
    });
    var seen = load(once(0, true), new Level.Clients(1));
    // the second GET checks the resident tensor
    assertThat(gets).hasValue(2);
    assertThat(seen.requests()).isZero();
    assertThat(seen.correct()).isFalse();
  }

  /** The rate is four times the capacity: latency of an open loop must grow with the queue. */
  @Test
  void openLoopLatencyIncludesQueueing() throws Exception {
    serve((exchange, stored) -> {
      pause(20_000_000);
      send(exchange, 200, stored);
    });
    var closed = load(once(0.4, false), new Level.Clients(1));
    assertThat(closed.latency().p50()).isGreaterThan(20_000);
    Timeouts.lengthen(
        400,
        millis -> {
          var open = load(once(millis / 1e3, false), new Level.Rate(200, false));
          assertThat(open.loop()).isEqualTo("open");
          assertThat(open.level()).isEqualTo(200);
          if (open.requests() < 40) {
            return false; // the load generator hardly ran
          }
          // request n is due after 5n ms, and completes after 20n ms at the earliest
          assertThat(open.latency().max()).isGreaterThan(150_000);
          assertThat(open.latency().p90()).isGreaterThan(100_000);
          return true;
        });
  }

  private static void pause(long nanos) {
    long end = System.nanoTime() + nanos;
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }

  @Test
  void repeatsWindowsUntilThreeAreStable() throws Exception {
    var window = new AtomicLong();
    serve((exchange, stored) -> {
      // ten times slower in the first window
      pause(window.get() / (gets.get() < 3 ? 2 : 20));
      send(exchange, 200, stored);
    });
    Timeouts.lengthen(
        100,
        millis -> {
          var length = Duration.ofMillis(millis);
          window.set(length.toNanos());
          gets.set(0);
          var plan = new MeasurementPlan(NONE, length, Optional.empty(), 30, 0.5, false, 1);
          var seen = load(plan, new Level.Clients(1));
          if (!seen.stable() || seen.requests() < 30) {
            return false; // the machine is not stable, or too slow for ten requests in a window
          }
          assertThat(seen.windows()).isBetween(4, 30);
          assertThat(seen.seconds()).isGreaterThan(2.9 * millis / 1e3);
          return true;
        });
  }

  @Test
  void reportsAnUnreachableService() {
    serve((exchange, stored) -> send(exchange, 200, stored));
    server.stop(0);
    assertThatThrownBy(() -> load(once(0.1, false), new Level.Clients(1)))
        .isInstanceOf(LoadException.class)
        .hasMessageStartingWith("http://127.0.0.1:")
        .hasMessageContaining("does not answer");
  }
}
