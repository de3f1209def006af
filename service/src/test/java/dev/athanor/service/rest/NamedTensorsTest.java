package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.empty;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.nullValue;

import io.restassured.response.Response;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests named tensors on a single replica. */
class NamedTensorsTest extends RestTest {

  @AfterEach
  void delete() {
    given().delete("/tensors/w").then().statusCode(204);
  }

  private static String text(float... values) {
    return "{\"dtype\": \"f32\", \"shape\": [%d], \"data\": %s}"
        .formatted(values.length, Arrays.toString(values));
  }

  private Response put(String query, float... values) {
    return json(text(values)).put("/tensors/w" + query);
  }

  private float[] data(String handle) {
    var bytes =
        given()
            .accept("application/octet-stream")
            .get("/tensors/" + handle + "/data")
            .asByteArray();
    var values = new float[bytes.length / 4];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values);
    return values;
  }

  @Test
  void acceptsNamesAsHandles() {
    var handle =
        put("?replicas=1&scope=s", 1, 2)
            .then()
            .statusCode(201)
            .header("Location", "/tensors/w")
            .body("name", equalTo("w"))
            .body("replicas", contains("test"))
            .body("unreachable", empty())
            .body("scope", equalTo("s"))
            .body("expiresAt", nullValue())
            .extract()
            .<String>path("handle");

    given()
        .get("/tensors/w")
        .then()
        .statusCode(200)
        .body("handle", equalTo(handle))
        .body("name", equalTo("w"))
        .body("replicas", contains("test"));
    given().get("/tensors").then().body("tensors.name", hasItem("w"));
    assertThat(data("w")).containsExactly(1, 2);
    json("{\"inputs\": {\"x\": {\"handle\": \"w\"}}}")
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body("outputs.y.data", contains(1f, 2f));
    json("{\"inputs\": {\"x\": {\"handle\": \"w\", \"shape\": [2, 1]}}}")
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body("outputs.y.shape", contains(2, 1));
    given()
        .contentType("application/x-safetensors")
        .accept("application/json")
        .body(new byte[] {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
        .post("/ops/identity?x=w")
        .then()
        .statusCode(200)
        .body("outputs.y.data", contains(1f, 2f));
    json("""
    {"steps": [{"op": "identity", "inputs": {"x": "w"}, "outputs": {"y": "h"}}]}\
    """)
        .post("/pipelines/run")
        .then()
        .statusCode(200)
        .body("outputs.h.data", contains(1f, 2f));
  }

  /** Names within a pipeline take precedence over stored tensors. */
  @Test
  void valuesOfAPipelineTakePrecedence() {
    put("", 1, 2).then().statusCode(201);

    json("""
    {"inputs": {"w": %s}, "steps": [{"op": "identity", "inputs": {"x": "w"}, "outputs": {"y": "h"}}]}\
    """
            .formatted(text(7)))
        .post("/pipelines/run")
        .then()
        .statusCode(200)
        .body("outputs.h.data", contains(7f));
  }

  @Test
  void secondPutReplacesTheTensor() {
    long first = put("", 1, 2).then().statusCode(201).extract().jsonPath().getLong("version");
    var old = given().get("/tensors/w").then().extract().<String>path("handle");
    var tag = given().head("/tensors/w").getHeader("ETag");

    long second = put("", 3).then().statusCode(200).extract().jsonPath().getLong("version");

    assertThat(second).isGreaterThan(first);
    assertThat(data("w")).containsExactly(3);
    given().get("/tensors/" + old).then().statusCode(404);
    given()
        .accept("application/octet-stream")
        .header("If-None-Match", tag)
        .get("/tensors/w/data")
        .then()
        .statusCode(200);
  }

  @Test
  void checksPreconditions() {
    problem(
        json(text(1)).header("If-Match", "\"1\"").put("/tensors/w"),
        412,
        "version-mismatch",
        "If-Match",
        "If-Match is given, but no tensor is stored under the name w");
    long version =
        json(text(1))
            .header("If-None-Match", "*")
            .put("/tensors/w")
            .then()
            .statusCode(201)
            .extract()
            .jsonPath()
            .getLong("version");
    problem(
        json(text(2)).header("If-None-Match", "*").put("/tensors/w"),
        412,
        "version-mismatch",
        "If-None-Match",
        "If-None-Match is *, but version %d of a tensor is stored under the name w"
            .formatted(version));
    problem(
        json(text(2)).header("If-Match", "\"7\"").put("/tensors/w"),
        412,
        "version-mismatch",
        "If-Match",
        "If-Match does not match version %d of the tensor w; read the tensor again"
            .formatted(version));
    json(text(2))
        .header("If-Match", "\"%d\"".formatted(version))
        .put("/tensors/w")
        .then()
        .statusCode(200);
    problem(
        given()
            .contentType("application/json")
            .body(text(2).getBytes(UTF_8))
            .header("If-None-Match", "\"7\"")
            .put("/tensors/w"),
        400,
        "invalid-attribute",
        "If-None-Match",
        "If-None-Match is \"7\"; only * is supported, which stores the tensor if no other has the name");
  }

  @ParameterizedTest
  @ValueSource(strings = {"t_x", "-w", ".w", "a b", "a:b"})
  void rejectsInvalidNames(String name) {
    problem(
        json(text(1)).put("/tensors/{name}", name),
        400,
        "invalid-attribute",
        "name",
        "the name is \"%s\"; a name has 1 to 128 letters, digits, periods, hyphens and underscores, begins with a letter or a digit, and not with t_ as handles do"
            .formatted(name));
  }

  @Test
  void rejectsMoreReplicasThanConfigured() {
    for (var replicas : new String[] {"0", "2", "some"}) {
      problem(
          put("?replicas=" + replicas, 1),
          400,
          "invalid-attribute",
          "replicas",
          "replicas is \"%s\"; it must be all or an integer 1 to 1, the maximum number of replicas (athanor.forward.replicas, athanor.forward.discovery)"
              .formatted(replicas));
    }
    put("?replicas=all", 1).then().statusCode(201).body("replicas", contains("test"));
  }

  @Test
  void unknownNamesAreNotFound() {
    var message =
        "no tensor is stored under the name w; PUT /tensors/w stores one, and handles look like t_…";
    problem(given().get("/tensors/w"), 404, "unknown-handle", "handle", message);
    problem(given().get("/tensors/w/data"), 404, "unknown-handle", "handle", message);
    problem(
        json("{\"inputs\": {\"x\": {\"handle\": \"w\"}}}").post("/ops/identity"),
        404,
        "unknown-handle",
        "inputs.x.handle",
        message);
    given().delete("/tensors/w").then().statusCode(204);
  }

  /** Writes would make the copies differ. */
  @Test
  void rejectsWritesIntoNamedTensors() {
    var handle = put("", 1, 2).then().extract().<String>path("handle");
    for (var target : new String[] {"w", handle}) {
      var message =
          "%s is stored under the name w, so its contents do not change; PUT /tensors/w replaces it"
              .formatted(target);
      problem(
          json(text(3, 4)).put("/tensors/" + target + "/data"),
          409,
          "handle-in-use",
          "handle",
          message);
      problem(
          json("{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"into\": \"%s\"}}}"
                  .formatted(text(3, 4), target))
              .post("/ops/identity"),
          409,
          "handle-in-use",
          "outputs.y.into",
          message);
    }
    assertThat(data("w")).containsExactly(1, 2);
    problem(
        json("{\"ttlSeconds\": 60}").patch("/tensors/w"),
        400,
        "invalid-attribute",
        "handle",
        "handle is the name w, which may have copies on other replicas; store the tensor again to set its lease");
  }

  @Test
  void leaseOfANameExpires() {
    put("?ttlSeconds=60", 1).then().body("expiresAt", not(nullValue()));
    clock.advance(Duration.ofSeconds(61));
    given().get("/tensors/w").then().statusCode(404);
    put("?ttlSeconds=60", 1).then().statusCode(201);
  }

  @Test
  void quotaCountsTheOldTensorDuringReplacement() {
    int half = (64 << 20) / 2 - 1024;
    var body = new byte[half / 4 * 4 - (1 << 20)];
    var query = "?dtype=u8&shape=" + body.length;
    for (int status : new int[] {201, 200}) {
      given()
          .contentType("application/octet-stream")
          .body(body)
          .put("/tensors/w" + query)
          .then()
          .statusCode(status);
    }
    var other =
        given()
            .contentType("application/octet-stream")
            .body(body)
            .post("/tensors" + query)
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    given()
        .contentType("application/octet-stream")
        .body(body)
        .put("/tensors/w" + query)
        .then()
        .statusCode(429)
        .body("type", equalTo("urn:athanor:problem:quota-exceeded"));
    given().get("/tensors/w").then().statusCode(200);
    given().delete("/tensors/" + other).then().statusCode(204);
  }

  @Test
  void acceptsCopyNoticesOnlyFromReplicas() {
    problem(
        given()
            .contentType("application/json")
            .body("{\"version\": 1}".getBytes(UTF_8))
            .put("/tensors/w/copy"),
        400,
        "invalid-attribute",
        "Athanor-Forwarded",
        "Athanor-Forwarded is missing; replicas send this request to each other, and clients send PUT /tensors/{name}");
    long version = put("", 1).then().extract().jsonPath().getLong("version");
    var handle = tensor(5);
    copy("{\"handle\": \"%s\", \"version\": 1, \"replicas\": [\"x\", \"test\"]}".formatted(handle))
        .then()
        .statusCode(412)
        .body(
            "detail",
            equalTo(
                "a newer tensor was stored under the name w meanwhile, version %d; send the request again to replace it"
                    .formatted(version)));
    copy("{\"version\": %d}".formatted(version)).then().statusCode(204);
    assertThat(data("w")).containsExactly(1);

    var notice =
        "{\"handle\": \"%s\", \"version\": %d, \"replicas\": [\"x\", \"test\"]}"
            .formatted(handle, version + 1);
    copy(notice).then().statusCode(204);
    copy(notice).then().statusCode(204);
    assertThat(data("w")).containsExactly(5);
    given().get("/tensors/w").then().body("replicas", contains("x", "test"));
    json(notice.replace(Long.toString(version + 1), Long.toString(version + 2)))
        .header("Athanor-Forwarded", "x")
        .put("/tensors/other/copy")
        .then()
        .statusCode(409)
        .body(
            "detail",
            equalTo("%s is stored under the name w; a tensor has one name".formatted(handle)));
    copy("{\"version\": %d}".formatted(version + 2)).then().statusCode(204);
    given().get("/tensors/w").then().statusCode(404);
  }

  private Response copy(String notice) {
    return json(notice).header("Athanor-Forwarded", "x").put("/tensors/w/copy");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {} | version is missing; it orders the tensors stored under a name
          {"version": 0} | version is 0; it must be an integer 1 to 4503599627370496
          {"version": 1, "replicas": 2} | replicas must be a list of ids, got a number
          """)
  void rejectsInvalidCopyNotices(String notice, String message) {
    copy(notice).then().statusCode(400).body("detail", equalTo(message));
  }
}
