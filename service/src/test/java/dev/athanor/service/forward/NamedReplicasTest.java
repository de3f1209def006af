package dev.athanor.service.forward;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.LoopbackBlock;
import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Tests the copying of named tensors between replicas 2, 3 and 4. Replica 5 is configured but does
 * not run.
 */
@Tag(TestTier.THOROUGH_TAG)
class NamedReplicasTest {

  private static final JsonMapper JSON = new JsonMapper();
  private static final ApiKey.NewKey LAB = key("lab", "ops:run,tensors:read,tensors:write");
  private static final ApiKey.NewKey OTHER = key("other", "ops:run,tensors:read,tensors:write");
  private static final ApiKey.NewKey READER = key("lab", "tensors:read");
  private static final List<String> RUNNING = List.of("2", "3", "4");
  private static final List<ConfigurableApplicationContext> CONTEXTS = new ArrayList<>();
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @TempDir private static Path folder;

  @SuppressWarnings("NullAway.Init") // before all tests
  private static LoopbackBlock addresses;

  private static @Nullable ServiceProcess killed;

  private static ApiKey.NewKey key(String tenant, String scopes) {
    return ApiKey.create(new Tenant(tenant), Scope.list(scopes), new SecureRandom());
  }

  @BeforeAll
  static void start() throws Exception {
    addresses = new LoopbackBlock();
    Files.write(folder.resolve("keys"), List.of(LAB.line(), OTHER.line(), READER.line()));
    killed = startProcess();
    CONTEXTS.add(startHere("2"));
    CONTEXTS.add(startHere("3"));
    killed.awaitReady();
  }

  private static List<String> settings(String id) {
    return List.of(
        "server.address=" + addresses.host(id),
        "server.port=" + addresses.port(),
        "athanor.replica=test-" + id,
        "athanor.forward.url=http://" + addresses.address("{replica}"),
        "athanor.forward.replicas=2,3,4,5",
        "athanor.forward.connect-timeout=1h",
        "athanor.forward.idle-timeout=1h",
        "athanor.tensors.max-bytes=" + (1 << 20),
        "athanor.security.mode=api-key",
        "athanor.security.api-keys.file=" + folder.resolve("keys"),
        "athanor.tuning.cache=" + folder.resolve(id + ".json"));
  }

  /** Starts a replica in this JVM, which is much faster than a process. */
  private static ConfigurableApplicationContext startHere(String id) {
    var options =
        Stream.concat(
            Stream.of("athanor.device=emulator", "spring.grpc.server.port=0"),
            settings(id).stream());
    return SpringApplication.run(
        AthanorApplication.class, options.map(option -> "--" + option).toArray(String[]::new));
  }

  /** Starts the replica that a test kills. */
  private static ServiceProcess startProcess() throws IOException {
    return new ServiceProcess(folder, List.of("-Xmx256m"), settings("4"));
  }

  @AfterAll
  static void stop() throws IOException {
    CONTEXTS.forEach(ConfigurableApplicationContext::close);
    Objects.requireNonNull(killed).close();
    addresses.close();
  }

  @AfterEach
  void delete() throws Exception {
    // 503 because replica 5 is unreachable; the others have deleted their copies
    assertThat(send(LAB, "2", "DELETE", "/tensors/w", null).status()).isEqualTo(503);
  }

  private record Answer(int status, JsonNode body, String replica) {
    String detail() {
      return body.path("detail").asString("");
    }

    List<String> list(String member) {
      var texts = new ArrayList<String>();
      body.path(member).forEach(each -> texts.add(each.asString()));
      return texts;
    }
  }

  private static Answer send(
      ApiKey.NewKey key,
      String id,
      String method,
      String path,
      byte @Nullable [] body,
      String... headers)
      throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://" + addresses.address(id) + path))
            .header("X-API-Key", key.key())
            .method(
                method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
    if (body != null) {
      request.header(
          "Content-Type",
          path.contains("shape=") ? "application/octet-stream" : "application/json");
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    HttpResponse<byte[]> response = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
    var text = response.body();
    return new Answer(
        response.statusCode(),
        text.length > 0 && text[0] == '{' ? JSON.readTree(text) : JSON.createObjectNode(),
        response.headers().firstValue("Athanor-Replica").orElse(""));
  }

  private static byte[] tensor(float... values) {
    return "{\"dtype\": \"f32\", \"shape\": [%d], \"data\": %s}"
        .formatted(values.length, Arrays.toString(values))
        .getBytes(UTF_8);
  }

  private static Answer put(String id, String query, float... values) throws Exception {
    return send(LAB, id, "PUT", "/tensors/w" + query, tensor(values));
  }

  /** Runs relu on the named tensor. */
  private static Answer relu(String id, String... headers) throws Exception {
    return send(
        LAB,
        id,
        "POST",
        "/ops/relu",
        "{\"inputs\": {\"x\": {\"handle\": \"w\"}}}".getBytes(UTF_8),
        headers);
  }

  private static float first(Answer answer) {
    assertThat(answer.status()).as(answer.body().toString()).isEqualTo(200);
    return answer.body().path("outputs").path("y").path("data").path(0).floatValue();
  }

  private static Answer describe(String id) throws Exception {
    return send(LAB, id, "GET", "/tensors/w", null, "Athanor-Forwarded", "x");
  }

  @Test
  void copiesToEachReplica() throws Exception {
    var stored = put("3", "?replicas=3&scope=a+b&ttlSeconds=600", 1, 2);

    assertThat(stored.status()).as(stored.body().toString()).isEqualTo(201);
    assertThat(stored.list("replicas")).containsExactly("3", "4", "2");
    assertThat(stored.list("unreachable")).containsExactly("5");
    for (var id : RUNNING) {
      var copy = describe(id);
      assertThat(copy.list("replicas")).containsExactly("3", "4", "2");
      assertThat(copy.body().path("scope").asString()).isEqualTo("a b");
      assertThat(copy.body().path("expiresAt").isNull()).isFalse();
      assertThat(copy.body().path("handle").asString()).endsWith("_" + id);
      assertThat(copy.body().path("version")).isEqualTo(stored.body().path("version"));
      var answer = relu(id);
      assertThat(first(answer)).isEqualTo(1);
      assertThat(answer.replica()).isEqualTo(id);
    }
  }

  @Test
  void replicaWithoutACopyForwardsTheRequest() throws Exception {
    assertThat(put("2", "", 1).list("replicas")).containsExactly("2");

    for (var id : RUNNING) {
      var answer = relu(id);
      assertThat(first(answer)).isEqualTo(1);
      assertThat(answer.replica()).isEqualTo("2");
      assertThat(send(LAB, id, "GET", "/tensors/w", null).replica()).isEqualTo("2");
      assertThat(send(LAB, id, "GET", "/tensors/w/data", null).status()).isEqualTo(200);
    }
    var forwarded = relu("3", "Athanor-Forwarded", "x");
    assertThat(forwarded.status()).isEqualTo(404);
    assertThat(forwarded.detail())
        .isEqualTo(
            "the replica 3, to which the request was forwarded, has no tensor named w; store it with ?replicas=all");
  }

  /** An unreachable replica may have a tensor that the others do not have. */
  @Test
  void unknownNameIsUnavailableWhileAReplicaIsUnreachable() throws Exception {
    var answer = relu("2");
    assertThat(answer.status()).isEqualTo(503);
    assertThat(answer.detail()).startsWith("the replica 5 cannot be reached");
  }

  @Test
  void deletesOlderCopies() throws Exception {
    put("2", "?replicas=3", 1);
    var again = put("4", "", 2);

    assertThat(again.status()).isEqualTo(200);
    assertThat(again.list("replicas")).containsExactly("4");
    assertThat(describe("2").status()).isEqualTo(404);
    assertThat(describe("3").status()).isEqualTo(404);
    for (var id : RUNNING) {
      assertThat(first(relu(id))).isEqualTo(2);
    }
  }

  @Test
  void preconditionsSeeCopiesOfOtherReplicas() throws Exception {
    var version = put("2", "", 1).body().path("version").asLong();

    assertThat(send(LAB, "3", "PUT", "/tensors/w", tensor(2), "If-None-Match", "*").detail())
        .isEqualTo(
            "If-None-Match is *, but version %d of a tensor is stored under the name w"
                .formatted(version));
    assertThat(send(LAB, "3", "PUT", "/tensors/w", tensor(2), "If-Match", "\"7\"").status())
        .isEqualTo(412);
    assertThat(
            send(LAB, "3", "PUT", "/tensors/w", tensor(2), "If-Match", "\"" + version + "\"")
                .status())
        .isEqualTo(201);
  }

  @Test
  void failedCopiesChangeNothing() throws Exception {
    put("2", "?replicas=3", 1);

    for (var query : List.of("?replicas=4", "?replicas=all")) {
      var answer = put("2", query, 2);
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.body().path("type").asString()).endsWith("replica-unavailable");
      assertThat(answer.detail())
          .startsWith(
              "no replica has stored the tensor under the name w, since too few could take a copy: the replica 5 cannot be reached");
      assertThat(answer.list("done")).isEmpty();
      assertThat(answer.list("failed")).containsExactly("5");
    }
    for (var id : RUNNING) {
      assertThat(first(relu(id))).isEqualTo(1);
      assertThat(send(LAB, id, "GET", "/tensors", null).body().path("tensors").size())
          .as("tensors of %s", id)
          .isEqualTo(1);
    }
    assertThat(put("2", "?replicas=5", 2).detail())
        .startsWith("replicas is \"5\"; it must be all or an integer 1 to 4");
  }

  /** The next replica takes the copy of a full one. */
  @Test
  void skipsFullReplicas() throws Exception {
    int size = 700_000;
    var filler =
        send(LAB, "3", "POST", "/tensors?dtype=u8&shape=" + size, new byte[size])
            .body()
            .path("handle")
            .asString();

    var one = send(LAB, "2", "PUT", "/tensors/w?replicas=2&dtype=u8&shape=" + size, new byte[size]);
    assertThat(one.list("replicas")).as(one.body().toString()).containsExactly("2", "4");
    assertThat(one.list("unreachable")).containsExactly("5");
    send(LAB, "2", "DELETE", "/tensors/w", null);
    var all = send(LAB, "2", "PUT", "/tensors/w?replicas=3&dtype=u8&shape=" + size, new byte[size]);
    assertThat(all.status()).isEqualTo(429);
    assertThat(all.detail()).contains("the replica 3: Quota exceeded by a tensor of 700000 bytes");
    assertThat(all.list("failed")).containsExactly("3", "5");
    send(LAB, "3", "DELETE", "/tensors/" + filler, null);
  }

  @Test
  void deletingDeletesAllCopies() throws Exception {
    put("2", "?replicas=3", 1);

    var answer = send(LAB, "4", "DELETE", "/tensors/w", null);

    assertThat(answer.status()).isEqualTo(503);
    assertThat(answer.detail())
        .startsWith(
            "the tensor of the name w is deleted on 4, 2, 3, but others may still have it; send the request again: the replica 5 cannot be reached");
    assertThat(answer.list("done")).containsExactly("4", "2", "3");
    assertThat(answer.list("failed")).containsExactly("5");
    for (var id : RUNNING) {
      assertThat(describe(id).status()).isEqualTo(404);
    }
  }

  @Test
  void namesBelongToTheirTenants() throws Exception {
    put("2", "?replicas=3", 1);
    assertThat(send(OTHER, "3", "PUT", "/tensors/w", tensor(9)).status()).isEqualTo(201);

    assertThat(first(relu("3"))).isEqualTo(1);
    assertThat(send(OTHER, "4", "GET", "/tensors/w", null).replica()).isEqualTo("3");
    send(OTHER, "4", "DELETE", "/tensors/w", null);
    assertThat(first(relu("3"))).isEqualTo(1);
    assertThat(send(OTHER, "3", "GET", "/tensors", null).body().path("tensors").size()).isZero();
  }

  @Test
  void copyingNeedsTheScopeOfTheCaller() throws Exception {
    assertThat(send(READER, "2", "PUT", "/tensors/w", tensor(1)).status()).isEqualTo(403);
    assertThat(
            send(
                    READER,
                    "2",
                    "PUT",
                    "/tensors/w/copy",
                    "{\"version\": 1}".getBytes(UTF_8),
                    "Athanor-Forwarded",
                    "3")
                .status())
        .isEqualTo(403);
  }

  /** The header that prevents forwarding loops also prevents copying. */
  @Test
  void doesNotCopyOnForwardedRequests() throws Exception {
    assertThat(
            send(LAB, "2", "PUT", "/tensors/w?replicas=2", tensor(1), "Athanor-Forwarded", "x")
                .detail())
        .startsWith("replicas is \"2\"; it must be all or an integer 1 to 1");
  }

  @Test
  void copiesSurviveTheLossOfAReplica() throws Exception {
    put("2", "?replicas=3", 1);

    var process = Objects.requireNonNull(killed);
    process.kill();
    try {
      for (var id : List.of("2", "3")) {
        assertThat(first(relu(id))).isEqualTo(1);
      }
    } finally {
      process = startProcess();
      killed = process;
      process.awaitReady();
    }
    assertThat(first(relu("4"))).as("forwarded by the new replica").isEqualTo(1);
    put("4", "?replicas=3", 2);
    for (var id : RUNNING) {
      assertThat(first(relu(id))).isEqualTo(2);
    }
  }
}
