package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.run.TestOps;
import io.restassured.response.Response;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests binary inline tensors: isolation between requests, and the limit of their memory. */
class InlineTensorsTest extends RestTest {

  private static final String FILE = "application/x-safetensors";
  private static final int MIB = 1 << 20;

  @Autowired InlineMemory inline;
  @Autowired ProcessorShares processors;
  private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();

  @AfterEach
  void releasesAllMemory() {
    clients.close();
    await().untilAsserted(() -> assertThat(inline.used()).isZero());
  }

  private static byte[] header(int bytes) {
    return Safetensors.header(Map.of("x", TensorType.of(DType.U8, bytes)), Map.of()).orElseThrow();
  }

  private static byte[] file(byte[] data) {
    var header = header(data.length);
    return ByteBuffer.allocate(header.length + data.length).put(header).put(data).array();
  }

  private Response identity(byte[] data, boolean gate) {
    return given()
        .contentType(FILE)
        .body(file(data))
        .queryParam("gate", gate)
        .post("/ops/identity");
  }

  private static byte[] data(Response response) {
    var answer = response.then().statusCode(200).contentType(FILE).extract().asByteArray();
    int length = (int) ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN).getLong();
    return Arrays.copyOfRange(answer, 8 + length, answer.length);
  }

  /** Runs the same op through the Open Inference Protocol. */
  private byte[] infer(byte[] data) {
    var json =
        """
        {"parameters": {"binary_data_output": true},
         "inputs": [{"name": "x", "datatype": "UINT8", "shape": [%1$d],
                     "parameters": {"binary_data_size": %1$d}}]}
        """
            .formatted(data.length)
            .getBytes(ISO_8859_1);
    var answer =
        given()
            .contentType("application/octet-stream")
            .header("Inference-Header-Content-Length", json.length)
            .body(ByteBuffer.allocate(json.length + data.length).put(json).put(data).array())
            .post("/v2/models/identity/infer")
            .then()
            .statusCode(200)
            .extract();
    int length = Integer.parseInt(answer.header("Inference-Header-Content-Length"));
    var bytes = answer.asByteArray();
    return Arrays.copyOfRange(bytes, length, bytes.length);
  }

  @Test
  void concurrentRequestsDoNotShareMemory() {
    long seed = 20261122;
    var runs =
        IntStream.range(0, 3)
            .mapToObj(client ->
                CompletableFuture.runAsync(
                    () -> {
                      var random = new Random(seed + client);
                      for (int i = 0; i < 15; i++) {
                        var data = new byte[1 + random.nextInt(i % 3 == 0 ? 3 * MIB : 100_000)];
                        random.nextBytes(data);
                        boolean other = random.nextBoolean();
                        assertThat(other ? infer(data) : data(identity(data, false)))
                            .as("seed %d, client %d, round %d", seed, client, i)
                            .isEqualTo(data);
                      }
                    },
                    clients))
            .toList();
    runs.forEach(CompletableFuture::join);
  }

  @Test
  void rejectsRequestsWhileOthersUseTheMemory() {
    TestOps.Identity.AT_GATE.set(0);
    var large = new byte[20 * MIB];
    Arrays.fill(large, (byte) 7);
    var first = CompletableFuture.supplyAsync(() -> identity(large, true), clients);
    await().until(() -> TestOps.Identity.AT_GATE.get() == 1);
    try {
      expectRejections();
    } finally {
      TestOps.Identity.GATE.release();
    }
    assertThat(data(first.join())).isEqualTo(large);
  }

  private void expectRejections() {
    assertThat(inline.used()).as("input and output").isEqualTo(40 * MIB);
    problem(
            identity(new byte[5 * MIB], false),
            429,
            "out-of-host-memory",
            null,
            "Out of host memory: other requests use 41943040 of 50331648 bytes (athanor.run.inline-bytes), 41943040 of them for this tenant (athanor.quota.share). Retry after 1 s.")
        .header("Retry-After", equalTo("1"));
    // as numbers, for an upload and for a call
    var numbers =
        "{\"dtype\": \"f32\", \"shape\": [1100000], \"data\": [1%s]}"
            .formatted(",1".repeat(1_099_999));
    json(numbers).post("/tensors").then().statusCode(429);
    json("{\"inputs\": {\"x\": %s}}".formatted(numbers))
        .post("/ops/identity")
        .then()
        .statusCode(429);
    assertThat(inline.used()).isEqualTo(40 * MIB);
    var small = new byte[] {1, 2, 3};
    assertThat(data(identity(small, false))).isEqualTo(small);
  }

  @Test
  void rejectsTooLargeRequests() {
    problem(
        identity(new byte[30 * MIB], false),
        413,
        "too-large",
        null,
        "Inline tensors exceed the limit of 50331648 bytes (athanor.run.inline-bytes, athanor.quota.share); upload them and pass handles");
    var kept = given().contentType(FILE).body(file(new byte[30 * MIB])).queryParam("y", "handle");
    var handle =
        kept.accept("application/json")
            .post("/ops/identity")
            .then()
            .statusCode(200)
            .extract()
            .<String>path("outputs.y.handle");
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  /** Memory grows with the received bytes, not with the announced length. */
  @Test
  void announcedBytesReserveNoMemory() throws IOException {
    var header = header(30 * MIB);
    var request =
        """
        POST /ops/identity HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/x-safetensors\r
        Content-Length: %d\r
        \r
        """
            .formatted(header.length + 30 * MIB);
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var out = socket.getOutputStream();
      out.write(request.getBytes(ISO_8859_1));
      out.write(header);
      out.flush();
      await().until(() -> inline.used() > 0);
      assertThat(inline.used()).isEqualTo(MIB);
      out.write(new byte[MIB]);
      out.flush();
      await().until(() -> inline.used() > MIB);
      assertThat(inline.used()).isLessThanOrEqualTo(9 * MIB);
    }
  }

  @Test
  void largeBodiesWaitWhileAnotherTenantUsesTheProcessors() {
    var end = new CountDownLatch(1);
    var held = new AtomicInteger();
    for (int i = 1; processors.waiting() == 0; i++) { // until no processor is left
      clients.execute(() -> hold(held, end));
      int started = i;
      await().until(() -> held.get() == started || processors.waiting() == 1);
    }
    CompletableFuture<byte[]> large;
    try {
      large = CompletableFuture.supplyAsync(() -> data(identity(new byte[MIB], false)), clients);
      await().until(() -> processors.waiting() == 2);
      assertThat(data(identity(new byte[] {1, 2, 3}, false))).containsExactly(1, 2, 3);
      assertThat(large).isNotDone();
    } finally {
      end.countDown();
    }
    assertThat(large.join()).hasSize(MIB);
  }

  private void hold(AtomicInteger held, CountDownLatch end) {
    try (var _ = processors.open("flood")) {
      ProcessorShares.acquire(MIB);
      held.incrementAndGet();
      end.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
