package dev.athanor.service.forward;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.testing.LoopbackBlock;
import dev.athanor.testing.Programs;
import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.core.NestedExceptionUtils;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Tests three replicas behind HAProxy, which ignores handles. One is killed and one is added during
 * the test; every response must be correct or report the loss.
 */
@Tag(TestTier.THOROUGH_TAG)
class ReplicasTest {

  private static final int WORKERS = 4;
  private static final int REQUESTS = TestTier.choose(1_000, 1_000, 10_000);
  private static final int ELEMENTS = 16;
  private static final String KILLED = "3";
  private static final String UNAVAILABLE = "replica-unavailable";
  private static final String WRONG = "wrong-replica";
  private static final String CLOSED = "connection closed";

  /** Stored on every initial replica, so that the loss of one loses nothing. */
  private static final float[] WEIGHTS = new float[ELEMENTS];

  static {
    Arrays.fill(WEIGHTS, 0.5f);
  }

  private static final JsonMapper JSON = new JsonMapper();

  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();
  private final AtomicInteger sent = new AtomicInteger();
  private final AtomicInteger withWeights = new AtomicInteger();
  private final Set<String> answered = ConcurrentHashMap.newKeySet();
  private final TreeMap<String, Integer> outcomes = new TreeMap<>();
  private volatile boolean killing;
  private volatile boolean killed;

  /** Set when the balancer has detected the killed replica. */
  private volatile boolean settled;

  private URI url = URI.create("http://127.0.0.1");

  @TempDir Path folder;

  /** A tensor with its expected values. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record ExpectedTensor(String handle, float[] values) {
    String owner() {
      return handle.substring(handle.lastIndexOf('_') + 1);
    }
  }

  /**
   * A response.
   *
   * @param code the problem code; empty for success
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Answer(String code, byte[] body) {
    JsonNode json() {
      return JSON.readTree(body);
    }

    boolean isOk() {
      return code.isEmpty();
    }
  }

  @Test
  void everyResponseIsCorrectOrReportsTheLoss() throws Exception {
    var haproxy = Programs.require("haproxy", "apt-get install haproxy");
    try (var addresses = new LoopbackBlock();
        var a = replica("2", addresses);
        var b = replica(KILLED, addresses);
        var c = replica("4", addresses)) {
      url = URI.create("http://" + addresses.address("1"));
      for (var replica : List.of(a, b, c)) {
        replica.awaitReady();
      }
      var balancer = balancer(haproxy, addresses);
      try (var workers = Executors.newVirtualThreadPerTaskExecutor()) {
        awaitBalancer();
        storeWeights();
        // two on each replica, so that the killed replica loses some
        var untouched = new Worker(WORKERS);
        for (int i = 0; i < 6; i++) {
          untouched.create();
        }
        var work = new ArrayList<Future<List<ExpectedTensor>>>();
        for (int i = 0; i < WORKERS; i++) {
          var worker = new Worker(i);
          work.add(workers.submit((Callable<List<ExpectedTensor>>) worker::work));
        }
        awaitSent(REQUESTS / 3, work);
        killing = true;
        b.kill();
        killed = true;
        awaitSent(REQUESTS / 2, work);
        try (var d = replica("5", addresses)) {
          d.awaitReady();
          awaitAnswerOf("5");
          settled = true;
          int lost = 0;
          for (var future : work) {
            for (var tensor : future.get()) {
              lost += check(tensor) ? 0 : 1;
            }
          }
          for (var tensor : untouched.tensors) {
            lost += check(tensor) ? 0 : 1;
          }
          assertThat(withWeights).hasPositiveValue();
          assertThat(lost).as("lost tensors of the killed replica").isPositive();
          System.out.println(
              "ReplicasTest: %d requests, answered by %s, %d tensors lost; outcomes %s"
                  .formatted(sent.get(), answered, lost, outcomes));
          assertThat(answered).contains("2", "3", "4", "5");
          assertThat(outcomes.keySet()).isSubsetOf("ok", UNAVAILABLE, WRONG, CLOSED);
          assertThat(outcomes).containsKeys("ok", UNAVAILABLE, WRONG);
        }
      } finally {
        balancer.destroyForcibly();
      }
    }
  }

  /** Starts a replica at the loopback address that ends with its id. */
  private ServiceProcess replica(String id, LoopbackBlock addresses) throws IOException {
    return new ServiceProcess(
        folder,
        List.of("-Xmx256m"),
        List.of(
            "server.address=" + addresses.host(id),
            "server.port=" + addresses.port(),
            "athanor.replica=athanor-" + id,
            "athanor.forward.url=http://" + addresses.address("{replica}"),
            "athanor.forward.replicas=2,3,4,5",
            "athanor.forward.connect-timeout=1h",
            "athanor.forward.idle-timeout=1h",
            "athanor.tuning.cache=" + folder.resolve("tuning-" + id + ".json")));
  }

  private void storeWeights() throws Exception {
    var answer =
        send(
            "PUT",
            "/tensors/weights?replicas=3",
            "application/json",
            inline(WEIGHTS).getBytes(UTF_8));
    assertThat(answer.isOk()).isTrue();
    assertThat(answer.json().path("replicas").size()).isEqualTo(3);
    assertThat(answer.json().path("unreachable").path(0).asString()).isEqualTo("5");
  }

  private static String inline(float[] values) {
    return "{\"dtype\": \"f32\", \"shape\": [%d], \"data\": %s}"
        .formatted(values.length, Arrays.toString(values));
  }

  /**
   * Starts HAProxy with the documented configuration, except that it waits longer for responses to
   * its checks: otherwise it would take replicas of a slow machine for dead.
   */
  private Process balancer(Path haproxy, LoopbackBlock addresses) throws IOException {
    var documented = Files.readString(Path.of("..", "docs", "haproxy.cfg"));
    var connect = "    timeout connect 2s\n";
    assertThat(documented).contains(connect);
    var config = folder.resolve("haproxy.cfg");
    Files.writeString(config, documented.replace(connect, connect + "    timeout check 1h\n"));
    var builder = new ProcessBuilder(haproxy.toString(), "-db", "-f", config.toString());
    builder.environment().put("ATHANOR_BIND", addresses.address("1"));
    for (int i = 0; i < 4; i++) {
      builder
          .environment()
          .put("ATHANOR_" + (char) ('A' + i), addresses.address(Integer.toString(i + 2)));
    }
    return builder
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("haproxy.log").toFile())
        .start();
  }

  private void awaitBalancer() throws Exception {
    await().ignoreExceptions().until(() -> get("/readyz").isOk());
  }

  private void awaitAnswerOf(String id) {
    await().until(() -> get("/ops").isOk() && answered.contains(id));
  }

  private void awaitSent(int count, List<Future<List<ExpectedTensor>>> work) throws Exception {
    while (sent.get() < count) {
      for (var future : work) {
        if (future.isDone()) {
          future.get(); // throws the cause
        }
      }
      Thread.sleep(5);
    }
  }

  private Answer get(String path) throws IOException, InterruptedException {
    return send("GET", path, "", new byte[0]);
  }

  private Answer send(String method, String path, String type, byte[] body)
      throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(url.resolve(path));
    if (!type.isEmpty()) {
      request.header("Content-Type", type);
    }
    request.method(
        method, body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
    HttpResponse<byte[]> response;
    try {
      response = client.send(request.build(), BodyHandlers.ofByteArray());
    } catch (IOException e) {
      return closed(method + " " + path, e);
    }
    sent.incrementAndGet();
    response.headers().firstValue("Athanor-Replica").ifPresent(answered::add);
    var code = response.statusCode() < 300 ? "" : code(method + " " + path, response);
    count(code.isEmpty() ? "ok" : code);
    return new Answer(code, response.body());
  }

  /** Handles a closed connection, which HAProxy may cause when a replica dies during a request. */
  private Answer closed(String what, IOException failure) throws IOException {
    if (!killing
        || settled
        || !(NestedExceptionUtils.getRootCause(failure) instanceof EOFException)) {
      throw new IOException(what, failure);
    }
    sent.incrementAndGet();
    count(CLOSED);
    return new Answer(UNAVAILABLE, new byte[0]);
  }

  private void count(String outcome) {
    synchronized (outcomes) {
      outcomes.merge(outcome, 1, Integer::sum);
    }
  }

  private String code(String what, HttpResponse<byte[]> response) {
    var text = new String(response.body(), UTF_8);
    assertThat(response.headers().firstValue("Content-Type"))
        .as("%s: %d %s", what, response.statusCode(), text)
        .contains("application/problem+json");
    var code = JSON.readTree(text).path("type").asString().replace("urn:athanor:problem:", "");
    assertThat(code).as("%s: %s", what, text).isIn(UNAVAILABLE, WRONG);
    if (code.equals(UNAVAILABLE)) {
      assertThat(killing).as("%s: %s", what, text).isTrue();
      assertThat(response.headers().firstValue("Retry-After")).isPresent();
    }
    return code;
  }

  /**
   * Returns whether a tensor exists, and checks its values. Only the killed replica may have lost
   * tensors.
   */
  private boolean check(ExpectedTensor tensor) throws IOException, InterruptedException {
    boolean gone = killed && tensor.owner().equals(KILLED);
    var answer = call(tensor, "GET", "/data", "", new byte[0]);
    if (answer.isOk()) {
      assertThat(gone).as("%s was lost", tensor.handle).isFalse();
      var values = new float[ELEMENTS];
      ByteBuffer.wrap(answer.body).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values);
      assertThat(values).isEqualTo(tensor.values);
      return true;
    }
    return false;
  }

  /**
   * Calls an endpoint of a tensor. It must succeed unless its replica or the receiving one was
   * killed.
   */
  private Answer call(ExpectedTensor tensor, String method, String path, String type, byte[] body)
      throws IOException, InterruptedException {
    boolean wasSettled = settled;
    var answer = send(method, "/tensors/" + tensor.handle + path, type, body);
    expectResult(tensor, wasSettled, answer);
    return answer;
  }

  private static void expectResult(ExpectedTensor tensor, boolean wasSettled, Answer answer) {
    if (!answer.isOk()) {
      assertThat(answer.code).isEqualTo(UNAVAILABLE);
      assertThat(wasSettled && !tensor.owner().equals(KILLED))
          .as("%s lost, though its replica lives", tensor.handle)
          .isFalse();
    }
  }

  private static float[] floats(JsonNode data) {
    var values = new float[data.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = data.get(i).floatValue();
    }
    return values;
  }

  /** A client with the expected values of its tensors. */
  private final class Worker {
    private final Random random;
    private final List<ExpectedTensor> tensors = new ArrayList<>();

    Worker(int seed) {
      random = new Random(seed);
    }

    List<ExpectedTensor> work() throws Exception {
      while (sent.get() < REQUESTS) {
        int which = random.nextInt(12);
        if (tensors.size() < 4 || (which == 0 && tensors.size() < 40)) {
          create();
          continue;
        }
        var tensor = tensors.get(random.nextInt(tensors.size()));
        switch (which) {
          case 0, 1 -> check(tensor);
          case 2 -> call(tensor, "GET", "", "", new byte[0]);
          case 3 ->
              call(
                  tensor, "PATCH", "", "application/json", "{\"ttlSeconds\": 900}".getBytes(UTF_8));
          case 4 -> delete(tensor);
          case 5 -> replace(tensor);
          case 6 -> add(tensor);
          case 7 -> addTwo(tensor, tensors.get(random.nextInt(tensors.size())));
          case 8 -> pipeline(tensor);
          case 9, 10 -> addWeights();
          default -> addInline();
        }
      }
      return tensors;
    }

    private float[] numbers() {
      var values = new float[ELEMENTS];
      for (int i = 0; i < ELEMENTS; i++) {
        values[i] = random.nextInt(1000);
      }
      return values;
    }

    private Answer json(String method, String path, String body) throws Exception {
      return send(method, path, "application/json", body.getBytes(UTF_8));
    }

    private void create() throws Exception {
      var values = numbers();
      var answer = json("POST", "/tensors", inline(values));
      if (answer.isOk()) {
        tensors.add(new ExpectedTensor(answer.json().path("handle").asString(), values));
      }
    }

    private void delete(ExpectedTensor tensor) throws Exception {
      call(tensor, "DELETE", "", "", new byte[0]);
      tensors.remove(tensor); // also on failure, since its state is unknown then
    }

    private void replace(ExpectedTensor tensor) throws Exception {
      var values = numbers();
      var bytes = ByteBuffer.allocate(4 * ELEMENTS).order(ByteOrder.LITTLE_ENDIAN);
      bytes.asFloatBuffer().put(values);
      var answer = call(tensor, "PUT", "/data", "application/octet-stream", bytes.array());
      tensors.remove(tensor);
      if (answer.isOk()) {
        tensors.add(new ExpectedTensor(tensor.handle, values));
      } else if (killed && tensor.owner().equals(KILLED)) {
        tensors.add(tensor); // lost in either case
      }
    }

    private void sum(Answer answer, float[] a, float[] b, String output) {
      var expected = new float[ELEMENTS];
      for (int i = 0; i < ELEMENTS; i++) {
        expected[i] = a[i] + b[i];
      }
      assertThat(floats(answer.json().path("outputs").path(output).path("data")))
          .isEqualTo(expected);
    }

    private void add(ExpectedTensor tensor) throws Exception {
      boolean wasSettled = settled;
      var b = numbers();
      var answer =
          json(
              "POST",
              "/ops/add",
              "{\"inputs\": {\"a\": {\"handle\": \"%s\"}, \"b\": %s}}"
                  .formatted(tensor.handle, inline(b)));
      expectResult(tensor, wasSettled, answer);
      if (answer.isOk()) {
        sum(answer, tensor.values, b, "y");
      }
    }

    private void addTwo(ExpectedTensor a, ExpectedTensor b) throws Exception {
      boolean wasSettled = settled;
      var answer =
          json(
              "POST",
              "/ops/add",
              "{\"inputs\": {\"a\": {\"handle\": \"%s\"}, \"b\": {\"handle\": \"%s\"}}}"
                  .formatted(a.handle, b.handle));
      if (!a.owner().equals(b.owner())) {
        assertThat(answer.code).isIn(WRONG, UNAVAILABLE);
      } else {
        expectResult(a, wasSettled, answer);
        if (answer.isOk()) {
          sum(answer, a.values, b.values, "y");
        }
      }
    }

    private void pipeline(ExpectedTensor tensor) throws Exception {
      boolean wasSettled = settled;
      var b = numbers();
      var answer =
          json(
              "POST",
              "/pipelines/run",
              "{\"inputs\": {\"b\": %s}, \"steps\": [{\"op\": \"add\", \"inputs\": {\"a\": \"%s\", \"b\": \"b\"}, \"outputs\": {\"y\": \"h\"}}], \"outputs\": {\"h\": {\"as\": \"inline\"}}}"
                  .formatted(inline(b), tensor.handle));
      expectResult(tensor, wasSettled, answer);
      if (answer.isOk()) {
        sum(answer, tensor.values, b, "h");
      }
    }

    /**
     * Adds to the shared weights. Every replica can, including the added one; only the killed one
     * may fail to respond.
     */
    private void addWeights() throws Exception {
      boolean wasSettled = settled;
      var b = numbers();
      var answer =
          json(
              "POST",
              "/ops/add",
              "{\"inputs\": {\"a\": {\"handle\": \"weights\"}, \"b\": %s}}".formatted(inline(b)));
      if (answer.isOk()) {
        sum(answer, WEIGHTS, b, "y");
        withWeights.incrementAndGet();
      } else {
        assertThat(answer.code).isEqualTo(UNAVAILABLE);
        assertThat(wasSettled).as("weights lost with one replica").isFalse();
      }
    }

    private void addInline() throws Exception {
      var a = numbers();
      var b = numbers();
      var answer =
          json(
              "POST",
              "/ops/add",
              "{\"inputs\": {\"a\": %s, \"b\": %s}}".formatted(inline(a), inline(b)));
      if (answer.isOk()) {
        sum(answer, a, b, "y");
      }
    }
  }
}
