package dev.athanor.service.forward;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import dev.athanor.service.model.SmallModels;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.CheckpointFiles;
import dev.athanor.testing.LoopbackBlock;
import dev.athanor.testing.TestTier;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
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

/** Tests stored models and sessions on the replicas 2, 3 and 4. */
@Tag(TestTier.THOROUGH_TAG)
class ModelReplicasTest {

  private static final JsonMapper JSON = new JsonMapper();
  private static final ApiKey.NewKey LAB = key("lab", "ops:run,tensors:read,tensors:write");
  private static final ApiKey.NewKey OTHER = key("other", "ops:run,tensors:read,tensors:write");
  private static final ApiKey.NewKey RUNNER = key("lab", "ops:run");
  private static final List<String> ALL = List.of("2", "3", "4");
  private static final Map<String, ConfigurableApplicationContext> CONTEXTS = new TreeMap<>();
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @TempDir private static Path folder;

  @SuppressWarnings("NullAway.Init") // before all tests
  private static LoopbackBlock addresses;

  private static ApiKey.NewKey key(String tenant, String scopes) {
    return ApiKey.create(new Tenant(tenant), Scope.list(scopes), new SecureRandom());
  }

  @BeforeAll
  static void start() throws Exception {
    addresses = new LoopbackBlock();
    Files.write(folder.resolve("keys"), List.of(LAB.line(), OTHER.line(), RUNNER.line()));
    ALL.forEach(ModelReplicasTest::start);
  }

  private static void start(String id) {
    var options =
        List.of(
            "athanor.device=emulator:0",
            "spring.grpc.server.port=0",
            "server.address=" + addresses.host(id),
            "server.port=" + addresses.port(),
            "athanor.replica=test-" + id,
            "athanor.forward.url=http://" + addresses.address("{replica}"),
            "athanor.forward.replicas=2,3,4",
            "athanor.forward.connect-timeout=1h",
            "athanor.forward.idle-timeout=1h",
            "athanor.tensors.max-bytes=" + (1 << 20),
            "athanor.models.cache-positions=192",
            "athanor.models.dir=" + folder.resolve("models-" + id),
            "athanor.security.mode=api-key",
            "athanor.security.api-keys.file=" + folder.resolve("keys"),
            "athanor.tuning.cache=" + folder.resolve(id + ".json"));
    CONTEXTS.put(
        id,
        SpringApplication.run(
            AthanorApplication.class,
            options.stream().map(option -> "--" + option).toArray(String[]::new)));
  }

  private static void stop(String id) {
    Objects.requireNonNull(CONTEXTS.remove(id)).close();
  }

  @AfterAll
  static void stop() throws IOException {
    CONTEXTS.values().forEach(ConfigurableApplicationContext::close);
    addresses.close();
  }

  @AfterEach
  void delete() throws Exception {
    for (var id : ALL) {
      for (var model : List.of("adder", "llama")) {
        send(LAB, id, "DELETE", "/models/" + model, "", "Athanor-Forwarded", "x");
      }
      assertThat(send(LAB, id, "GET", "/tensors", "").body().path("tensors").size())
          .as("tensors of %s", id)
          .isZero();
    }
  }

  private record Answer(int status, JsonNode body, String text, String replica) {

    String detail() {
      return body.path("detail").asString("");
    }

    List<String> list(String member) {
      var texts = new ArrayList<String>();
      body.path(member).forEach(each -> texts.add(each.asString()));
      return texts;
    }

    String type() {
      return body.path("type").asString("").replace("urn:athanor:problem:", "");
    }

    Answer expect(int expected) {
      assertThat(status).as(text).isEqualTo(expected);
      return this;
    }

    Answer by(String expected) {
      assertThat(replica).isEqualTo(expected);
      return this;
    }
  }

  private static Answer send(
      ApiKey.NewKey key, String id, String method, String path, String body, String... headers)
      throws Exception {
    return send(key, id, method, path, "application/json", body.getBytes(UTF_8), headers);
  }

  private static Answer send(
      ApiKey.NewKey key,
      String id,
      String method,
      String path,
      String type,
      byte[] body,
      String... headers)
      throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://" + addresses.address(id) + path))
            .header("X-API-Key", key.key())
            .method(
                method,
                body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
    if (body.length > 0) {
      request.header("Content-Type", type);
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    var response = CLIENT.send(request.build(), BodyHandlers.ofString(UTF_8));
    var text = response.body();
    return new Answer(
        response.statusCode(),
        text.startsWith("{") ? JSON.readTree(text) : JSON.createObjectNode(),
        text,
        response.headers().firstValue("Athanor-Replica").orElse(""));
  }

  /** Stores a model that adds a weight. */
  private static Answer put(String id, String query, float weight) throws Exception {
    var file = SmallModels.model(SmallModels.adding(weight));
    return send(LAB, id, "PUT", "/models/adder" + query, "application/onnx", file);
  }

  private static Answer run(ApiKey.NewKey key, String id, String model, String... headers)
      throws Exception {
    var zeros = "0,".repeat(SmallModels.WIDTH - 1) + "0";
    var body =
        "{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [1, %d], \"data\": [%s]}}, \"outputs\": {\"y\": {}}}"
            .formatted(SmallModels.WIDTH, zeros);
    return send(key, id, "POST", "/models/" + model + "/run", body, headers);
  }

  /** Returns the weight of a model. */
  private static float weight(Answer answer) {
    return answer.expect(200).body().path("outputs").path("y").path("data").path(0).floatValue();
  }

  @Test
  void requestsForAModelGoToTheReplicaThatHasIt() throws Exception {
    put("2", "", 1).expect(201);
    put("2", "", 2).expect(201);
    send(LAB, "4", "GET", "/models/adder@3", "").expect(404).by("4");

    for (var id : ALL) {
      assertThat(weight(run(LAB, id, "adder").by("2"))).isEqualTo(2);
      assertThat(weight(run(LAB, id, "adder@1").by("2"))).isEqualTo(1);
      assertThat(weight(run(RUNNER, id, "adder").by("2"))).as("may only run").isEqualTo(2);
      send(LAB, id, "GET", "/models/adder@2", "").expect(200).by("2");
      var v2 = "/v2/models/adder";
      send(LAB, id, "GET", v2, "").expect(200).by("2");
      send(LAB, id, "GET", v2 + "/versions/1/config", "").expect(200).by("2");
      var zeros = "0,".repeat(SmallModels.WIDTH - 1) + "0";
      var inference =
          "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1, %d], \"data\": [%s]}]}"
              .formatted(SmallModels.WIDTH, zeros);
      send(LAB, id, "POST", v2 + "/versions/1/infer", inference).expect(200).by("2");
      send(OTHER, id, "GET", "/models/adder", "").expect(404);
    }
  }

  @Test
  void modelsThatNoReplicaHasAreUnknown() throws Exception {
    put("2", "", 1).expect(201);

    var answer = run(LAB, "3", "sub").expect(404).by("3");
    assertThat(answer.type()).isEqualTo("not-found");
    assertThat(answer.detail())
        .isEqualTo("There is no model \"sub\". GET /models lists all models.");
    assertThat(run(LAB, "2", "adder@7").expect(404).detail())
        .isEqualTo("The model \"adder\" has no version 7; its versions are [1].");
    assertThat(run(LAB, "3", "adder@x").expect(404).detail())
        .isEqualTo("There is no model \"adder\". GET /models lists all models.");
    send(LAB, "3", "GET", "/models/other", "").expect(404).by("3");
    answer = send(LAB, "3", "GET", "/v2/models/other", "").expect(404);
    assertThat(answer.type()).isEqualTo("unknown-op");
    assertThat(answer.detail())
        .isEqualTo("Unknown model \"other\". GET /v2/models lists all models.");
    assertThat(send(LAB, "2", "GET", "/v2/models/adder/versions/7", "").expect(404).detail())
        .isEqualTo("adder has no version \"7\"; its only version is 1");
    assertThat(run(LAB, "3", "adder", "Athanor-Forwarded", "x").expect(404).detail())
        .isEqualTo(
            "the replica 3, to which the request was forwarded, has no model named adder; store it with ?replicas=all");
  }

  private static byte[] llama() throws IOException {
    var body = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(body)) {
      for (var file : Objects.requireNonNull(CheckpointFiles.all().get("llama")).entrySet()) {
        zip.putNextEntry(new ZipEntry(file.getKey()));
        zip.write(file.getValue());
      }
    }
    return body.toByteArray();
  }

  private static Answer generate(String id, String session) throws Exception {
    return send(
        LAB,
        id,
        "POST",
        "/models/llama/generate",
        "{\"session\": \"%s\", \"tokens\": [1, 2], \"maxTokens\": 2, \"temperature\": 0}"
            .formatted(session));
  }

  /** Stores a decoder on the replica 2 and begins a session there. */
  private static String session() throws Exception {
    putLlama("2", "").expect(201);
    var session =
        send(LAB, "3", "POST", "/models/llama/sessions", "")
            .expect(201)
            .by("2")
            .body()
            .path("session")
            .asString();
    assertThat(session).matches("s_[0-9a-f]{32}_2");
    return session;
  }

  @Test
  void requestsOfASessionGoToItsReplica() throws Exception {
    var session = session();
    var path = "/models/llama/sessions/" + session;

    generate("3", session).expect(200).by("2");
    for (var id : ALL) {
      var described = send(LAB, id, "GET", path, "").expect(200).by("2");
      assertThat(described.body().path("length").intValue()).isEqualTo(4);
    }
    var run =
        "{\"session\": \"%s\", \"inputs\": {\"tokens\": {\"dtype\": \"i64\", \"shape\": [1, 1], \"data\": [3]}}}"
            .formatted(session);
    send(LAB, "4", "POST", "/models/llama/run", run).expect(200).by("2");
    send(LAB, "4", "POST", path + "/fork", "").expect(201).by("2");
    send(OTHER, "3", "GET", path, "").expect(404).by("2");
    send(LAB, "3", "DELETE", path, "").expect(204).by("2");
    assertThat(generate("4", session).expect(404).by("2").detail())
        .startsWith("There is no session \"" + session + "\" of this model.");
  }

  /** The model is loaded again, but its sessions are not. */
  @Test
  void sessionsEndWithTheirReplica() throws Exception {
    var session = session();
    stop("2");
    try {
      assertThat(generate("3", session).expect(503).detail())
          .startsWith("the replica 2 cannot be reached, and nothing was sent to it");
      assertThat(send(LAB, "3", "GET", "/models/llama", "").expect(503).type())
          .isEqualTo("replica-unavailable");
    } finally {
      start("2");
    }
    assertThat(generate("3", session).expect(404).by("2").detail())
        .isEqualTo(
            "There is no session \"%s\" of this model. It may have expired, or the model may have been replaced; POST /models/{name}/sessions begins a new one."
                .formatted(session));
  }

  /** Returns the weights of a replica's own versions of the model, the default first. */
  private static List<Float> weights(String id, String... references) throws Exception {
    var weights = new ArrayList<Float>();
    for (var reference : references) {
      weights.add(weight(run(LAB, id, reference, "Athanor-Forwarded", "x").by(id)));
    }
    return weights;
  }

  private static Answer own(String id) throws Exception {
    return send(LAB, id, "GET", "/models/adder", "", "Athanor-Forwarded", "x");
  }

  private static Answer setDefault(String id, long version) throws Exception {
    return send(LAB, id, "PUT", "/models/adder/default", "{\"version\": %d}".formatted(version));
  }

  @Test
  void storesAModelOnAllReplicas() throws Exception {
    assertThat(own("2").status()).isEqualTo(404);
    var stored = put("3", "?replicas=all&extents=rows:1-4", 1).expect(201);

    assertThat(stored.list("replicas")).containsExactly("3", "4", "2");
    assertThat(stored.body().path("unreachable").isEmpty()).isTrue();
    for (var id : ALL) {
      var copy = own(id).expect(200);
      assertThat(copy.body().path("version").intValue()).isEqualTo(1);
      assertThat(copy.list("replicas")).containsExactly("3", "4", "2");
      assertThat(copy.body().path("extents").path("rows").path("max").intValue()).isEqualTo(4);
      assertThat(weights(id, "adder")).containsExactly(1f);
    }
    send(LAB, "2", "DELETE", "/models/adder", "").expect(204);
    for (var id : ALL) {
      own(id).expect(404);
    }
    send(LAB, "2", "DELETE", "/models/adder", "").expect(404);
  }

  /** Otherwise the result of a call would depend on the replica that it reaches. */
  @Test
  void newVersionsGoToTheReplicasThatHaveTheModel() throws Exception {
    assertThat(put("2", "", 1).expect(201).body().path("replicas").isNull()).isTrue();
    var second = put("3", "", 2).expect(201);
    assertThat(second.body().path("version").intValue()).isEqualTo(2);
    assertThat(second.list("replicas")).containsExactly("3", "2");
    assertThat(weights("2", "adder", "adder@1")).containsExactly(2f, 1f);
    assertThat(weights("3", "adder")).containsExactly(2f);
    own("4").expect(404);

    setDefault("4", 1).expect(200).by("2");
    own("3").expect(404);
    for (var id : ALL) {
      assertThat(weight(run(LAB, id, "adder"))).isEqualTo(1);
      assertThat(weight(run(LAB, id, "adder@2"))).isEqualTo(2);
    }
    assertThat(setDefault("4", 7).expect(404).detail())
        .isEqualTo("There is no model \"adder\". GET /models lists all models.");
    assertThat(weight(run(LAB, "4", "adder"))).isEqualTo(1);

    put("4", "?replicas=3", 3).expect(201);
    send(LAB, "3", "DELETE", "/models/adder?version=3", "").expect(204);
    assertThat(weights("2", "adder")).containsExactly(2f);
    own("3").expect(404);
    own("4").expect(404);
  }

  /** Stores a tensor that leaves no memory for the weights of a model, and returns its handle. */
  private static String fill(int bytes) throws Exception {
    return send(
            LAB,
            "3",
            "POST",
            "/tensors?dtype=u8&shape=" + bytes,
            "application/octet-stream",
            new byte[bytes])
        .expect(201)
        .body()
        .path("handle")
        .asString();
  }

  private static Answer putLlama(String id, String query) throws Exception {
    return send(LAB, id, "PUT", "/models/llama" + query, "application/zip", llama());
  }

  private static Answer ownLlama(String id) throws Exception {
    return send(LAB, id, "GET", "/models/llama", "", "Athanor-Forwarded", "x");
  }

  @Test
  void failedCopiesChangeNothing() throws Exception {
    int bytes = putLlama("3", "").expect(201).body().path("bytes").intValue();
    var filler = fill((1 << 20) - bytes - 1000);

    var failed = putLlama("2", "").expect(429);
    assertThat(failed.type()).isEqualTo("quota-exceeded");
    assertThat(failed.detail())
        .startsWith(
            "no replica has stored version 2 of the model llama, since too few could take a copy: the replica 3: Quota exceeded by a tensor of ");
    assertThat(failed.list("done")).isEmpty();
    assertThat(failed.list("failed")).containsExactly("3");
    ownLlama("2").expect(404);
    assertThat(ownLlama("3").expect(200).list("versions")).containsExactly("1");
    send(LAB, "2", "DELETE", "/models/llama", "").expect(204);
    var more = fill(bytes / 2 + 1000);

    var all = putLlama("2", "?replicas=all").expect(429);
    assertThat(all.list("failed")).containsExactly("3");
    for (var id : ALL) {
      ownLlama(id).expect(404);
    }
    assertThat(putLlama("2", "?replicas=2").expect(201).list("replicas"))
        .as("the next replica takes the copy of a full one")
        .containsExactly("2", "4");
    send(LAB, "3", "DELETE", "/tensors/" + filler, "").expect(204);
    send(LAB, "3", "DELETE", "/tensors/" + more, "").expect(204);
  }

  @Test
  void reportsReplicasThatDoNotAnswer() throws Exception {
    put("2", "?replicas=all", 1).expect(201);
    stop("4");
    try {
      var all = put("2", "?replicas=all", 2).expect(503);
      assertThat(all.detail())
          .startsWith(
              "no replica has stored version 2 of the model adder, since too few could take a copy: the replica 4 cannot be reached");
      assertThat(put("2", "?replicas=3", 2).expect(503).list("failed")).containsExactly("4");
      assertThat(weights("3", "adder")).containsExactly(1f);
      var stored = put("2", "", 2).expect(201);
      assertThat(stored.list("replicas")).containsExactly("2", "3");
      assertThat(stored.list("unreachable")).containsExactly("4");
      var reset = setDefault("3", 1).expect(503);
      assertThat(reset.detail())
          .startsWith(
              "version 1 of the model adder is the default on 3, 2, but others may have another default; send the request again: the replica 4 cannot be reached");
      var deleted = send(LAB, "3", "DELETE", "/models/adder@2", "").expect(503);
      assertThat(deleted.detail())
          .startsWith(
              "the model adder@2 is deleted on 3, 2, but others may still have it; send the request again: the replica 4 cannot be reached");
      assertThat(deleted.list("failed")).containsExactly("4");
    } finally {
      start("4");
    }
    assertThat(weights("4", "adder")).as("loaded again").containsExactly(1f);
    assertThat(own("4").list("replicas")).containsExactly("2", "3", "4");
    assertThat(put("4", "", 3).expect(201).list("replicas")).containsExactly("4", "2", "3");
  }

  @Test
  void refusesWrongNumbersOfReplicas() throws Exception {
    assertThat(put("2", "?replicas=4", 1).expect(400).detail())
        .isEqualTo(
            "replicas is \"4\"; it must be all or an integer 1 to 3, the maximum number of replicas (athanor.forward.replicas, athanor.forward.discovery)");
    own("2").expect(404);
  }

  private static Answer copy(String query, String type, byte[] body, String... headers)
      throws Exception {
    return send(LAB, "2", "PUT", "/models/adder/copy" + query, type, body, headers);
  }

  @Test
  void onlyReplicasSendCopies() throws Exception {
    var notice = "{\"version\": 5, \"replicas\": [\"2\"]}".getBytes(UTF_8);
    var missing =
        "Athanor-Forwarded is missing; replicas send this request to each other, and clients send PUT /models/{name}";
    assertThat(copy("", "application/json", notice).expect(400).detail()).isEqualTo(missing);
    assertThat(copy("?version=5", "application/zip", llama()).expect(400).detail())
        .isEqualTo(missing);
    assertThat(send(LAB, "2", "GET", "/models/adder/copy", "").expect(400).detail())
        .startsWith("Athanor-Forwarded is missing;");
    assertThat(copy("", "application/json", notice, "Athanor-Forwarded", "3").expect(412).detail())
        .isEqualTo(
            "version 5 of the model adder was not copied to this replica, or has been discarded since; send the request again");
    assertThat(
            copy("", "application/json", "{}".getBytes(UTF_8), "Athanor-Forwarded", "3")
                .expect(400)
                .detail())
        .isEqualTo("version is missing; it is the number of the copy on all replicas");
    assertThat(copy("", "application/zip", llama(), "Athanor-Forwarded", "3").expect(400).detail())
        .isEqualTo("version is missing; it is the number of the copy on all replicas");
    send(RUNNER, "2", "PUT", "/models/adder/copy", "{}", "Athanor-Forwarded", "3").expect(403);
  }
}
