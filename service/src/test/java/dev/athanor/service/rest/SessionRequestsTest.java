package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.startsWith;

import dev.athanor.ops.HostTensor;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.model.SmallModels;
import dev.athanor.testing.CheckpointFiles;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import io.restassured.response.ValidatableResponse;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests sessions and generation with a small decoder. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "athanor.models.cache-positions=192"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class SessionRequestsTest {

  private static final Map<String, byte[]> FILES =
      Objects.requireNonNull(CheckpointFiles.all().get("llama"));

  private static final String PATH = "/models/llama";
  private static final String SESSIONS = PATH + "/sessions";

  @LocalServerPort int port;

  private RequestSpecification given() {
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  private static Map<String, HostTensor> tensors(String file) throws IOException {
    return Safetensors.read(MemorySegment.ofArray(Objects.requireNonNull(FILES.get(file))));
  }

  @BeforeEach
  void store() throws IOException {
    given()
        .contentType("application/zip")
        .body(SmallModels.decoder())
        .put(PATH)
        .then()
        .statusCode(201);
  }

  @AfterEach
  void delete() {
    given().delete(PATH).then().statusCode(204);
    List<String> scopes =
        given().queryParam("limit", 1000).get("/tensors").jsonPath().getList("tensors.scope");
    assertThat(scopes).noneMatch(scope -> scope != null && scope.startsWith("model "));
  }

  private String session() {
    return given().post(SESSIONS).then().statusCode(201).extract().path("session");
  }

  private Response run(String session, List<Integer> tokens) {
    return given()
        .contentType("application/json")
        .body(
            Map.of(
                "session", session,
                "inputs",
                    Map.of(
                        "tokens",
                        Map.of("dtype", "i64", "shape", List.of(1, tokens.size()), "data", tokens)),
                "outputs", Map.of("next", Map.of())))
        .post(PATH + "/run");
  }

  private List<Float> next(String session, Integer... tokens) {
    var answer = run(session, List.of(tokens)).then().statusCode(200);
    assertThat(answer.extract().<Map<String, ?>>path("outputs")).containsOnlyKeys("next");
    return answer.extract().path("outputs.next.data");
  }

  private Response generate(Map<String, ?> request) {
    return given()
        .contentType("application/json")
        .header("X-Row-Invariant", "true")
        .body(request)
        .post(PATH + "/generate");
  }

  private List<Integer> generated(Map<String, ?> request) {
    return generate(request).then().statusCode(200).extract().path("tokens");
  }

  private ValidatableResponse describe(String session) {
    return given().get(SESSIONS + "/" + session).then().statusCode(200);
  }

  @Test
  void callsOfSessionsHaveTheLogitsOfTransformers() throws IOException {
    var tokens = Objects.requireNonNull(tensors("inputs.safetensors").get("tokens"));
    var expected = Objects.requireNonNull(tensors("outputs.safetensors").get("logits"));
    int count = (int) tokens.type().shape().extent(1);
    int vocabulary = (int) expected.type().shape().extent(2);
    var ids = Arrays.stream(tokens.toDoubles(0, count)).mapToObj(id -> (int) id).toList();
    var session = session();
    for (int i = 3; i <= count; i++) {
      var read = i == 3 ? ids.subList(0, 3) : ids.subList(i - 1, i);
      var logits = next(session, read.toArray(Integer[]::new));
      var right = expected.toDoubles((i - 1) * (long) vocabulary, vocabulary);
      for (int j = 0; j < vocabulary; j++) {
        assertThat((double) logits.get(j)).isEqualTo(right[j], within(1e-4));
      }
    }
    describe(session).body("length", equalTo(count)).body("model", equalTo("llama"));
  }

  /** Generates as many calls would, token by token. */
  @Test
  void generationChoosesTheMostProbableTokens() {
    var request =
        Map.of("tokens", List.of(3, 1, 4, 1, 5), "maxTokens", 6, "temperature", 0, "seed", 1);
    var tokens = generated(request);
    var session = session();
    var logits = next(session, 3, 1, 4, 1, 5);
    for (int token : tokens) {
      var most =
          IntStream.range(0, logits.size()).reduce((a, b) -> logits(a, b, logits)).orElseThrow();
      assertThat(token).isEqualTo(most);
      logits.clear();
      logits.addAll(next(session, token));
    }
    assertThat(tokens).hasSize(6);
  }

  private static int logits(int a, int b, List<Float> logits) {
    return logits.get(b) > logits.get(a) ? b : a;
  }

  /** Requests of unlike lengths, some greedy and some not, return the same tokens as alone. */
  @Test
  void tokensDoNotDependOnOtherRequests() {
    var requests = new ArrayList<Map<String, ?>>();
    for (int i = 0; i < 5; i++) {
      requests.add(
          Map.of(
              "tokens",
              IntStream.rangeClosed(1, 3 + 2 * i).boxed().toList(),
              "maxTokens",
              4 + i,
              "temperature",
              i % 2 == 0 ? 0 : 0.8,
              "topK",
              20,
              "seed",
              i));
    }
    var alone = requests.stream().map(this::generated).toList();
    var calls =
        requests.stream()
            .map(request -> CompletableFuture.supplyAsync(() -> generated(request)))
            .toList();
    assertThat(calls.stream().map(CompletableFuture::join).toList()).isEqualTo(alone);
    assertThat(alone.stream().map(List::size)).containsExactly(4, 5, 6, 7, 8);
  }

  @Test
  void tokensAreStreamedAsEvents() {
    var request = Map.of("tokens", List.of(1, 2, 3), "maxTokens", 3, "seed", 5);
    var tokens = generated(request);
    var answer =
        given()
            .contentType("application/json")
            .accept("text/event-stream")
            .header("X-Row-Invariant", "true")
            .body(request)
            .post(PATH + "/generate");
    answer.then().statusCode(200).contentType("text/event-stream");
    var expected = new StringBuilder();
    for (int token : tokens) {
      expected.append("event: token\ndata: {\"token\":%d}\n\n".formatted(token));
    }
    expected.append("event: end\ndata: {\"reason\":\"length\",\"seed\":5,\"length\":6}\n\n");
    assertThat(answer.asString()).isEqualTo(expected.toString());
  }

  @Test
  void generationEndsAfterAStopToken() {
    var request = Map.of("tokens", List.of(1, 2), "maxTokens", 5, "seed", 8);
    int second = generated(request).get(1);
    var answer =
        generate(
            Map.of("tokens", List.of(1, 2), "maxTokens", 5, "seed", 8, "stop", List.of(second)));
    answer.then().statusCode(200).body("reason", equalTo("stop")).body("tokens", hasSize(2));
  }

  /** Generates in two requests what one generates: the session contains all tokens. */
  @Test
  void sessionsContinue() {
    var session = session();
    var all = generated(Map.of("tokens", List.of(7, 8, 9), "maxTokens", 4, "temperature", 0));
    var first =
        generated(
            Map.of(
                "session", session, "tokens", List.of(7, 8, 9), "maxTokens", 2, "temperature", 0));
    describe(session).body("length", equalTo(5));
    var logits = next(session, all.get(2));
    assertThat(first).isEqualTo(all.subList(0, 2));
    assertThat(IntStream.range(0, logits.size()).reduce((a, b) -> logits(a, b, logits)))
        .hasValue(all.get(3));
  }

  /** 40 positions fill one block and part of another: the fork shares one and copies the other. */
  @Test
  void forksContinueIndependently() {
    var session = session();
    var prompt = IntStream.range(0, 40).map(i -> i % 23).boxed().toArray(Integer[]::new);
    next(session, prompt);
    int bytes = describe(session).extract().path("bytes");
    String fork =
        given()
            .post(SESSIONS + "/" + session + "/fork")
            .then()
            .statusCode(201)
            .body("length", equalTo(40))
            .body("bytes", equalTo(bytes))
            .extract()
            .path("session");
    var other = next(fork, 11, 12);
    var own = next(session, 11);
    assertThat(next(session, 12)).isEqualTo(other);
    var alone = session();
    next(alone, prompt);
    assertThat(next(alone, 11)).isEqualTo(own);
    // 6 blocks: two of the session, one more of the fork, two of the other session, one free
    next(session(), prompt[0]);
    run(session(), List.of(1))
        .then()
        .statusCode(429)
        .body(
            "detail",
            equalTo(
                "the cache of the model llama has 6 blocks of 32 positions; 1 more are needed, and 0 are free. Delete sessions, or raise athanor.models.cache-positions."));
    given().delete(SESSIONS + "/" + fork).then().statusCode(204);
    next(session(), 1);
    given().get(SESSIONS).then().statusCode(200).body("sessions", hasSize(5));
    given().get(PATH + "@1/sessions/" + session).then().statusCode(200);
  }

  @Test
  void failedCallsChangeNothing() {
    var session = session();
    next(session, 1, 2);
    var refused =
        given()
            .contentType("application/json")
            .body(
                Map.of(
                    "session",
                    session,
                    "inputs",
                    Map.of(
                        "tokens",
                        Map.of("dtype", "f32", "shape", List.of(1, 1), "data", List.of(3)))))
            .post(PATH + "/run");
    refused.then().statusCode(400).body("detail", containsString("tokens i64[batch, sequence]"));
    run(session, IntStream.range(0, 300).boxed().toList())
        .then()
        .statusCode(413)
        .body(
            "detail",
            equalTo(
                "the session %s has 2 positions, and the call adds 300; the model has at most 128"
                    .formatted(session)));
    run(session, IntStream.range(0, 120).boxed().toList()).then().statusCode(200);
    var other = session();
    run(other, IntStream.range(0, 100).map(i -> i % 23).boxed().toList()).then().statusCode(429);
    describe(other).body("length", equalTo(0));
  }

  @Test
  void badRequestsAreRefused() {
    var session = session();
    given()
        .contentType("application/json")
        .body(
            Map.of(
                "session",
                session,
                "inputs",
                Map.of(
                    "tokens",
                    Map.of("dtype", "i64", "shape", List.of(2, 1), "data", List.of(1, 2)))))
        .post(PATH + "/run")
        .then()
        .statusCode(400)
        .body(
            "detail",
            equalTo(
                "inputs.tokens is i64[2, 1]; a session has one sequence, so its shape must be [1, positions]"));
    given()
        .contentType("application/json")
        .body(Map.of("session", session, "inputs", Map.of()))
        .post(PATH + "/run")
        .then()
        .statusCode(400)
        .body(
            "detail",
            equalTo("inputs.tokens is missing; the model requires tokens i64[batch, sequence]"));
    given()
        .contentType("application/json")
        .body(
            Map.of(
                "session",
                session,
                "inputs",
                Map.of(
                    "layers.0.keys",
                    Map.of("dtype", "i64", "shape", List.of(1), "data", List.of(1)))))
        .post(PATH + "/run")
        .then()
        .statusCode(400)
        .body("detail", equalTo("inputs.layers.0.keys is part of the session's state; remove it"));
    run("s_0", List.of(1)).then().statusCode(404).body("field", equalTo("session"));
    given().delete(SESSIONS + "/s_0").then().statusCode(404);
    given().post("/models/none/sessions").then().statusCode(404);
    generate(Map.of()).then().statusCode(400).body("field", equalTo("tokens"));
    generate(Map.of("tokens", List.of(1, 30)))
        .then()
        .statusCode(400)
        .body("detail", equalTo("tokens[1] is 30; the model has the tokens 0 to 29"));
    generate(Map.of("tokens", List.of(1), "maxTokens", 0))
        .then()
        .statusCode(400)
        .body("detail", equalTo("maxTokens is 0; it must be 1 to 65536"));
    generate(Map.of("tokens", List.of(1, -1)))
        .then()
        .statusCode(400)
        .body("detail", equalTo("tokens has -1; a token id is at least 0"));
    generate(Map.of("tokens", List.of(1), "stop", IntStream.range(0, 257).boxed().toList()))
        .then()
        .statusCode(413)
        .body("detail", equalTo("stop has more than 256 elements, which is the limit"));
    generate(Map.of("tokens", List.of(1), "temperature", -1))
        .then()
        .statusCode(400)
        .body("field", equalTo("temperature"));
    generate(Map.of("tokens", List.of(1), "session", "s_0")).then().statusCode(404);
    given().delete(SESSIONS + "/" + session).then().statusCode(204);
    run(session, List.of(1)).then().statusCode(404);
  }

  private Response append(String session, List<Integer> values, String... outputs) {
    var x = Map.of("dtype", "f32", "shape", List.of(1, values.size()), "data", values);
    var asked = new HashMap<String, Object>();
    Arrays.stream(outputs).forEach(output -> asked.put(output, Map.of()));
    return given()
        .contentType("application/json")
        .body(Map.of("session", session, "inputs", Map.of("x", x), "outputs", asked))
        .post("/models/appending/run");
  }

  /** The state of an ONNX decoder grows with each call. */
  @Test
  void sessionsCarryTheStateOfOnnxModels() {
    var path = "/models/appending";
    given().contentType("application/onnx").body(SmallModels.appending()).put(path);
    String session =
        given().post(path + "/sessions").then().statusCode(201).extract().path("session");
    append(session, List.of(1, 2)).then().statusCode(200).body("outputs.y.data", contains(1f, 2f));
    append(session, List.of(3)).then().body("outputs.y.data", contains(1f, 2f, 3f));
    given().get(path + "/sessions/" + session).then().body("bytes", equalTo(12));
    String fork =
        given()
            .post(path + "/sessions/" + session + "/fork")
            .then()
            .statusCode(201)
            .extract()
            .path("session");
    append(fork, List.of(9)).then().body("outputs.y.data", contains(1f, 2f, 3f, 9f));
    append(session, List.of(4), "y").then().body("outputs.y.data", contains(1f, 2f, 3f, 4f));
    append(session, List.of(4), "present.0.key")
        .then()
        .statusCode(400)
        .body("detail", equalTo("outputs.present.0.key is part of the session's state; remove it"));
    given()
        .contentType("application/json")
        .body(Map.of("tokens", List.of(1)))
        .post(path + "/generate")
        .then()
        .statusCode(400)
        .body("detail", startsWith("the model appending does not generate tokens; "));
    given().delete(path).then().statusCode(204);
    append(session, List.of(4)).then().statusCode(404);
  }

  /** Whoever deletes the cache of a model ends its sessions; new ones get another cache. */
  @Test
  void sessionsEndWithTheirCache() {
    var session = session();
    next(session, 1, 2);
    String cache =
        given()
            .queryParam("limit", 1000)
            .get("/tensors")
            .jsonPath()
            .getString("tensors.find { it.name == 'layers.0.keys' }.handle");
    given().delete("/tensors/" + cache).then().statusCode(204);
    run(session, List.of(3)).then().statusCode(404).body("field", equalTo("session"));
    next(session(), 1, 2);
  }

  /** Other sessions leave one of six blocks; a second is missing on the way. */
  @Test
  void aGenerationThatFailsCanBeRepeated() {
    run(session(), Collections.nCopies(96, 1)).then().statusCode(200);
    var other = session();
    run(other, Collections.nCopies(64, 1)).then().statusCode(200);
    var session = session();
    next(session, 1, 2, 3);
    Map<String, ?> request =
        Map.of("session", session, "tokens", List.of(4), "maxTokens", 36, "temperature", 0);
    generate(request).then().statusCode(429);
    describe(session).body("length", equalTo(3));
    given().delete(SESSIONS + "/" + other).then().statusCode(204);
    generate(request).then().statusCode(200).body("tokens", hasSize(36));
    describe(session).body("length", equalTo(40));
  }
}
