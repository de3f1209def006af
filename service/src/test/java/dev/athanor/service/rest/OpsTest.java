package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.closeTo;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.greaterThanOrEqualTo;
import static org.hamcrest.Matchers.matchesPattern;
import static org.hamcrest.Matchers.notNullValue;
import static org.hamcrest.Matchers.nullValue;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.testing.Timeouts;
import io.restassured.response.Response;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests the list of ops and calls. */
class OpsTest extends RestTest {

  private static final String X = "{\"dtype\": \"f32\", \"shape\": [2], \"data\": [1.5, -2]}";

  @Autowired StreamPool streams;

  @AfterEach
  void releasesEverything() {
    await().until(() -> streams.busy() + streams.waiting() == 0);
    assertThat(device.wasFreedDirty()).as("memory was freed without zeroing").isFalse();
  }

  @Test
  void listsOpsByName() {
    given()
        .get("/ops")
        .then()
        .statusCode(200)
        .body("ops.name", contains("concat", "identity", "join", "split"))
        .body("ops[0].inputs[1].optional", equalTo(true))
        .body("ops[1].attributes[0].default", equalTo(false))
        .body("ops[1].attributes[2].default", nullValue())
        .body("ops[1].attributes[2].choices", contains("a", "b"));
  }

  @Test
  void describesAnOp() {
    given().get("/ops/identity").then().statusCode(200).body("formula", equalTo("y = x"));
    problem(
        given().get("/ops/nope"),
        404,
        "unknown-op",
        null,
        "Unknown op \"nope\". GET /ops lists all ops.");
  }

  @Test
  void runsOnInlineDataAndReportsTimes() {
    json("{\"inputs\": {\"a\": %s, \"b\": %s}}".formatted(X, X))
        .post("/ops/concat")
        .then()
        .statusCode(200)
        .header(
            "Server-Timing",
            matchesPattern("prepare;dur=.*, queue;dur=.*, upload;dur=.*, total;dur=[0-9.]+"))
        .body("op", equalTo("concat"))
        .body("device", equalTo("fake:0"))
        .body("kernel", equalTo("concat"))
        .body("outputs.c.dtype", equalTo("f32"))
        .body("outputs.c.shape", contains(4))
        .body("outputs.c.data", contains(1.5f, -2.0f, 1.5f, -2.0f))
        .body("outputs.zeros.data", contains(0.0f, 0.0f))
        .body("timing.totalMicros", notNullValue());
  }

  private static final byte[] EMPTY_SAFETENSORS =
      Safetensors.header(Map.of(), Map.of()).orElseThrow();

  private Response concat(String key, String outputs) {
    return json("{\"inputs\": {\"a\": %s, \"b\": %s}, \"outputs\": {%s}}".formatted(X, X, outputs))
        .header("Idempotency-Key", key)
        .post("/ops/concat");
  }

  @Test
  void repeatedCallWithItsIdempotencyKeyCreatesNoSecondTensor() {
    var keep = "\"c\": {\"as\": \"handle\"}";
    var first = concat("op-1", keep).then().statusCode(200).extract().jsonPath();
    var handle = first.getString("outputs.c.handle");
    assertThat(first.getMap("outputs")).containsOnlyKeys("c");

    assertThat(concat("op-1", keep).jsonPath().getMap("")).isEqualTo(first.getMap(""));
    var other = concat("op-2", keep).jsonPath().getString("outputs.c.handle");
    assertThat(other).isNotEqualTo(handle);
    problem(
        concat("op-1", keep + ", \"zeros\": {\"as\": \"handle\"}"),
        422,
        "idempotency-key-reused",
        "Idempotency-Key",
        "this Idempotency-Key was used for a different request; use a new key for each request");
    given().delete("/tensors/" + handle).then().statusCode(204);
    var again = concat("op-1", keep).jsonPath().getString("outputs.c.handle");
    assertThat(again).as("new tensor after deletion").isNotEqualTo(handle);
    for (var each : List.of(other, again)) {
      given().delete("/tensors/" + each).then().statusCode(204);
    }
  }

  @Test
  void binaryCallsSupportIdempotencyKeys() {
    var x = tensor(1, 2);
    var handles = new HashSet<String>();
    for (int i = 0; i < 2; i++) {
      handles.add(
          given()
              .contentType("application/x-safetensors")
              .accept("application/json")
              .header("Idempotency-Key", "op-3")
              .queryParam("x", x)
              .queryParam("y", "handle")
              .body(EMPTY_SAFETENSORS)
              .post("/ops/identity")
              .then()
              .statusCode(200)
              .extract()
              .path("outputs.y.handle"));
    }
    assertThat(handles).hasSize(1);
    handles.add(x);
    handles.forEach(each -> given().delete("/tensors/" + each).then().statusCode(204));
  }

  @Test
  void rejectsIdempotencyKeysUnlessAllOutputsAreKept() {
    var x = tensor(1, 2, 3, 4);
    var only =
        "Idempotency-Key is for requests that keep all outputs on the device, but %s; request a handle or omit the key";
    problem(
        concat("op-4", ""),
        400,
        "invalid-attribute",
        "Idempotency-Key",
        only.formatted("this request names none"));
    problem(
        concat("op-4", "\"c\": {\"as\": \"inline\"}"),
        400,
        "invalid-attribute",
        "Idempotency-Key",
        only.formatted("c is returned inline"));
    problem(
        concat("k".repeat(256), "\"c\": {\"as\": \"handle\"}"),
        400,
        "invalid-attribute",
        "Idempotency-Key",
        "Idempotency-Key has 256 characters; it must have 1 to 255");
    given().delete("/tensors/" + x).then().statusCode(204);
  }

  @Test
  void acceptsReturnsAndOverwritesHandles() {
    var x = tensor(1, 2);
    var kept =
        json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}, \"outputs\": {\"y\": {\"as\": \"handle\"}}}"
                .formatted(x))
            .post("/ops/identity")
            .then()
            .statusCode(200)
            .body("outputs.y.bytes", equalTo(8))
            .body("outputs.y.version", equalTo(1))
            .extract()
            .<String>path("outputs.y.handle");
    json("{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"into\": \"%s\"}}}".formatted(X, kept))
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body("outputs.y.handle", equalTo(kept))
        .body("outputs.y.version", equalTo(2));
    given()
        .accept("application/json")
        .get("/tensors/" + kept + "/data")
        .then()
        .header("ETag", "\"2-json\"")
        .body("data", contains(1.5f, -2.0f));
    // with a deadline, the tensor is written only after the call has met it
    json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}, \"outputs\": {\"y\": {\"into\": \"%s\"}}}"
            .formatted(x, kept))
        .header("X-Deadline-Ms", 60_000)
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body("outputs.y.version", equalTo(3));
    given()
        .accept("application/json")
        .get("/tensors/" + kept + "/data")
        .then()
        .body("data", contains(1.0f, 2.0f));
  }

  @Test
  void returnsBase64() {
    json("{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"encoding\": \"base64\", \"dtype\": \"f32\"}}}"
            .formatted(X))
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body("outputs.y.base64", equalTo("AADAPwAAAMA="))
        .body("outputs.y.data", nullValue());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          identity | {}                                        | missing-input     | inputs.x             | input "x" […] is missing; the inputs of identity are x
          identity | {"inputs": {"z": 1}}                      | unknown-field     | inputs.z             | inputs.z is unknown; known keys are x
          identity | {"inputs": {"x": X}, "extra": 1}          | unknown-field     | extra                | extra is unknown; known keys are inputs, attributes, outputs
          identity | {"inputs": {"x": {"dtyp": 1}}}            | unknown-field     | inputs.x.dtyp        | inputs.x.dtyp is unknown; known keys are dtype, shape, data, base64, handle, offset, strides
          identity | {"inputs": {"x": X}, "outputs": {"z": {}}}| unknown-field     | outputs.z            | outputs.z is unknown; known keys are y
          identity | {"inputs": {"x": X}, "outputs": {"y": {"a": "b"}}} | unknown-field | outputs.y.a     | outputs.y.a is unknown; known keys are as, into, version, inPlace, dtype, encoding
          identity | {"inputs": {"x": X}, "outputs": {"y": {"as": "x"}}} | invalid-attribute | outputs.y.as | outputs.y.as is "x"; it must be inline or handle
          identity | {"inputs": {"x": X}, "outputs": {"y": {"dtype": "f16"}}} | unsupported-dtype | outputs.y.dtype | output "y" is f32, got f16
          identity | {"inputs": {"x": X}, "outputs": {"y": {"as": "inline", "into": "t_1"}}} | invalid-attribute | outputs.y.as | outputs.y.as is "inline"; it must be handle or absent if into is given
          identity | {"inputs": {"x": X}, "attributes": {"gate": 1}} | invalid-attribute | attributes.gate | attribute "gate" must be true or false, got 1
          identity | {"inputs": {"x": X}, "attributes": {"factor": 1e400}} | invalid-attribute | attributes.factor | attribute "factor" must be a finite number, got Infinity
          identity | {"inputs": {"x": X}, "attributes": {"mode": "c"}} | invalid-attribute | attributes.mode | attribute "mode" must be one of a, b, got "c"
          identity | {"inputs": {"x": X}, "attributes": {"mode": []}} | invalid-attribute | attributes.mode | attribute "mode" must be one of a, b, got []
          identity | {"inputs": {"x": X}, "attributes": {"mode": {}}} | invalid-attribute | attributes.mode | attributes.mode must be true, false, a number, a string or a list of numbers, got an object
          identity | {"inputs": {"x": X}, "attributes": {"mode": "\\ud800\\u0007"}} | invalid-attribute | attributes.mode | attribute "mode" must be one of a, b, got "??"
          identity | {"inputs": {"x": X}, "attributes": {"no": 1}} | unknown-field | attributes.no | attributes.no is unknown; known keys are gate, factor, mode
          identity | {"inputs": []}                            | invalid-tensor    | inputs               | inputs must be an object, got a list
          identity | {"inputs": {"x": {"handle": "../../etc"}}}| unknown-handle    | inputs.x.handle      | inputs.x.handle is not a handle; handles look like t_… and come from POST /tensors
          concat   | {"inputs": {"a": {"dtype": "f32", "shape": [1, 1], "data": [1]}}} | shape-mismatch | inputs.a | a must have rank 1, got [1, 1]
          concat   | {"inputs": {"a": {"dtype": "f64", "shape": [1], "data": [1]}}} | unsupported-on-device | inputs.a | f64 needs sm_100, this is sm_80
          """)
  void reportsInvalidFields(String op, String body, String code, String field, String detail) {
    int status =
        switch (code) {
          case "unknown-handle" -> 404;
          case "unsupported-on-device" -> 422;
          default -> 400;
        };
    problem(json(body.replace("X", X)).post("/ops/" + op), status, code, field, detail)
        .body("op", equalTo(op));
  }

  @Test
  void rejectsOutputsIntoInputsOrOtherShapes() {
    var x = tensor(1, 2);
    problem(
        json("{\"inputs\": {\"x\": {\"handle\": \"%1$s\"}}, \"outputs\": {\"y\": {\"into\": \"%1$s\"}}}"
                .formatted(x))
            .post("/ops/identity"),
        409,
        "handle-in-use",
        "outputs.y.into",
        "outputs.y.into is %s, which is also the input \"x\"; identity cannot run in place, so name another tensor"
            .formatted(x));
    var longer = tensor(1, 2, 3);
    problem(
        json("{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"into\": \"%s\"}}}"
                .formatted(X, longer))
            .post("/ops/identity"),
        400,
        "shape-mismatch",
        "outputs.y.into",
        "outputs.y.into has type f32[3], but output \"y\" has type f32[2]; they must be equal");
  }

  @Test
  void rejectsTwoOutputsIntoOneTensor() {
    var target = tensor(0, 0);
    problem(
        json("{\"inputs\": {\"a\": %s}, \"outputs\": {\"c\": {\"into\": \"%2$s\"}, \"zeros\": {\"into\": \"%2$s\"}}}"
                .formatted(X, target))
            .post("/ops/concat"),
        409,
        "handle-in-use",
        "outputs.zeros.into",
        "outputs.zeros.into is %s, which another output of the same call already writes; name another tensor"
            .formatted(target));
  }

  @Test
  void readsAHandleInAnotherShape() {
    var x = tensor(1, 2, 3, 4, 5, 6);
    json("{\"inputs\": {\"x\": {\"handle\": \"%s\", \"shape\": [3, 2]}}}".formatted(x))
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body("outputs.y.shape", contains(3, 2))
        .body("outputs.y.data", contains(1f, 2f, 3f, 4f, 5f, 6f));
    // the tensor itself is unchanged
    given().get("/tensors/" + x).then().body("shape", contains(6)).body("version", equalTo(1));
    problem(
        json("{\"inputs\": {\"x\": {\"handle\": \"%s\", \"shape\": [4, 2]}}}".formatted(x))
            .post("/ops/identity"),
        400,
        "shape-mismatch",
        "inputs.x.shape",
        "inputs.x.shape is [4, 2], but the tensor has shape [6]; both must have the same number of elements");
    problem(
        json("{\"inputs\": {\"x\": {\"handle\": \"%s\", \"shape\": [-6]}}}".formatted(x))
            .post("/ops/identity"),
        400,
        "invalid-tensor",
        "inputs.x.shape",
        "inputs.x.shape is [-6]; every extent must be at least 0");
  }

  @Test
  void checksMediaTypes() {
    problem(
        given().contentType("application/octet-stream").body(new byte[1]).post("/ops/identity"),
        415,
        "unsupported-media-type",
        "Content-Type",
        "Content-Type is application/octet-stream; it must be one of application/json, application/x-safetensors");
    problem(
        json("{}").accept("image/png").post("/ops/identity"),
        406,
        "not-acceptable",
        "Accept",
        "Accept is image/png; it must be one of application/json, application/x-safetensors");
    problem(
        json("{}").header("Content-Encoding", "gzip").post("/ops/identity"),
        415,
        "unsupported-media-type",
        "Content-Encoding",
        "Content-Encoding is gzip; compressed bodies are not supported here");
  }

  private CompletableFuture<Response> callAtGate(String deadline) {
    return CompletableFuture.supplyAsync(
        () -> {
          var request =
              json("{\"inputs\": {\"x\": %s}, \"attributes\": {\"gate\": true}, \"outputs\": {\"y\": {\"as\": \"handle\"}}}"
                      .formatted(X))
                  .queryParams(java.util.Map.of());
          if (!deadline.isEmpty()) {
            request.header("X-Deadline-Ms", deadline);
          }
          return request.post("/ops/identity");
        },
        Executors.newVirtualThreadPerTaskExecutor());
  }

  @Test
  void clientDisconnectCancelsTheCall() throws IOException {
    TestOps.Identity.AT_GATE.set(0);
    var running = List.of(callAtGate(""), callAtGate(""));
    await().until(() -> TestOps.Identity.AT_GATE.get() == 2);
    var body = "{\"inputs\": {\"x\": %s}}".formatted(X);
    try (var client = new Socket(InetAddress.getLoopbackAddress(), port)) {
      client
          .getOutputStream()
          .write(
              """
              POST /ops/identity HTTP/1.1\r
              Host: localhost\r
              Content-Type: application/json\r
              Content-Length: %d\r
              \r
              %s\
              """
                  .formatted(body.length(), body)
                  .getBytes(StandardCharsets.US_ASCII));
      await().until(() -> streams.waiting() == 1);
    }
    await().until(() -> streams.waiting() == 0);
    TestOps.Identity.GATE.release(2);
    running.forEach(call -> call.join().then().statusCode(200));
    given()
        .get("/actuator/prometheus")
        .then()
        .body(org.hamcrest.Matchers.containsString("outcome=\"cancelled\""));
  }

  @Test
  void rejectsCallsIfTheQueueIsFullAndEnforcesDeadlines() throws Exception {
    Timeouts.lengthen(300, this::rejectsCallsAndEnforcesDeadlines);
  }

  private boolean rejectsCallsAndEnforcesDeadlines(int deadline) {
    int tensors = given().get("/tensors").then().extract().<List<?>>path("tensors").size();
    TestOps.Identity.AT_GATE.set(0);
    var running = List.of(callAtGate(""), callAtGate(Integer.toString(deadline)));
    await().until(() -> TestOps.Identity.AT_GATE.get() == 2 || running.getLast().isDone());
    if (TestOps.Identity.AT_GATE.get() < 2) {
      TestOps.Identity.openGate(streams);
      return false; // the deadline passed before the job ran
    }
    var queued = new ArrayList<>(List.of(callAtGate("")));
    await().until(() -> streams.waiting() == 1);
    var late = callAtGate("1");
    problem(
        late.join(),
        504,
        "deadline-exceeded",
        null,
        "the call did not finish within its deadline of 1 ms; no result was stored");
    queued.add(callAtGate(""));
    await().until(() -> streams.waiting() == 2);
    var full = callAtGate("").join();
    var delay = full.header("Retry-After"); // depends on how long other jobs took
    assertThat(delay).matches("[1-9]\\d*");
    problem(
        full,
        429,
        "queue-full",
        null,
        "Queue full: 2 jobs are waiting, 2 of them for this tenant (see athanor.run.queue, queue-time, queue-bytes and athanor.quota.share). Retry after %s s."
            .formatted(delay));
    given()
        .get("/actuator/prometheus")
        .then()
        .body(org.hamcrest.Matchers.containsString("athanor_queue_depth{device=\"fake:0\"} 2.0"))
        .body(org.hamcrest.Matchers.containsString("athanor_streams_busy{device=\"fake:0\"} 2.0"));
    // on the device: the response is in time, although the job continues
    problem(
        running.get(1).join(),
        504,
        "deadline-exceeded",
        null,
        "the call did not finish within its deadline of %d ms; no result was stored"
            .formatted(deadline));
    TestOps.Identity.GATE.release(4);
    running.getFirst().join().then().statusCode(200);
    queued.forEach(call -> call.join().then().statusCode(200));
    await().until(() -> streams.busy() == 0);
    given()
        .get("/tensors")
        .then()
        .body("tensors.size()", equalTo(tensors + 3)); // none of the late calls
    return true;
  }

  @Test
  void rejectsInvalidDeadlines() {
    problem(
        json("{}").header("X-Deadline-Ms", "soon").post("/ops/identity"),
        400,
        "invalid-attribute",
        "X-Deadline-Ms",
        "X-Deadline-Ms is \"soon\"; it must be an integer of at least 1");
  }

  @Test
  void deviceFaultsAreInternalErrorsAndLeakNothing() {
    int buffers = settledBuffers();
    device.failWith(new DeviceException.KernelFault("identity_f32", List.of("thread 7 at /src/K")));
    json("{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"as\": \"handle\"}}}".formatted(X))
        .post("/ops/identity")
        .then()
        .statusCode(500)
        .body("type", equalTo("urn:athanor:problem:internal"))
        .body("id", notNullValue())
        .body(
            "detail",
            matchesPattern("Internal error; see the log of the service for id [0-9a-f-]+"));
    assertThat(device.openBuffers()).isEqualTo(buffers);
  }

  @Test
  void outOfDeviceMemoryReportsFreeBytes() {
    // a small call succeeds before the device is full
    json("{\"inputs\": {\"a\": {\"dtype\": \"i8\", \"shape\": [2], \"data\": [1, 2]}}}")
        .post("/ops/concat")
        .then()
        .statusCode(200)
        .body("outputs.c.data", contains(1, 2));
    var half = new byte[30 << 20];
    for (int i = 0; i < 2; i++) {
      given()
          .contentType("application/octet-stream")
          .queryParam("dtype", "u8")
          .queryParam("shape", half.length)
          .queryParam("scope", "full")
          .body(half)
          .post("/tensors")
          .then()
          .statusCode(201);
    }
    var big =
        "{\"dtype\": \"u8\", \"shape\": [6000000], \"data\": [" + "1,".repeat(5_999_999) + "1]}";
    json("{\"inputs\": {\"x\": %s}}".formatted(big))
        .post("/ops/identity")
        .then()
        .statusCode(507)
        .body("type", equalTo("urn:athanor:problem:out-of-device-memory"))
        .body("requestedBytes", equalTo(6_000_000))
        .body("freeBytes", greaterThanOrEqualTo(0));
    given().queryParam("scope", "full").delete("/tensors").then().statusCode(204);
  }

  @Test
  void countsCalls() {
    json("{\"inputs\": {\"x\": %s}}".formatted(X)).post("/ops/identity").then().statusCode(200);
    given().contentType("application/json").body("{}").post("/ops/nobody-knows-this");
    var page = given().get("/actuator/prometheus").then().statusCode(200).extract().asString();
    assertThat(page)
        .contains(
            "athanor_op_requests_total{device=\"fake:0\",op=\"identity\",outcome=\"ok\"}",
            "athanor_op_requests_total{device=\"fake:0\",op=\"unknown\",outcome=\"unknown-op\"}",
            "athanor_op_seconds_bucket{device=\"fake:0\",dtype=\"f32\",op=\"identity\",phase=\"kernel\",le=\"1.0E-5\"}",
            "athanor_op_seconds_bucket{device=\"fake:0\",dtype=\"f32\",op=\"identity\",phase=\"total\",le=\"10.0\"}",
            "athanor_op_flops_total{device=\"fake:0\",op=\"identity\"}",
            "athanor_op_bytes_total{device=\"fake:0\",op=\"identity\"}",
            "athanor_device_memory_bytes{device=\"fake:0\",state=\"free\"}")
        .doesNotContain("nobody-knows-this");
    assertThat(
            page.lines()
                .filter(l ->
                    l.startsWith("athanor_op_seconds_bucket")
                        && l.contains("phase=\"queue\"")
                        && l.contains("\"identity\"")
                        && l.contains("f32"))
                .count())
        .isEqualTo(20);
  }

  @Test
  void writesShortestNumbers() {
    json("{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [6], \"data\": [0.1, 1e10, \"NaN\", \"-Infinity\", -0.0, 16777217]}}}")
        .post("/ops/identity")
        .then()
        .statusCode(200)
        .body(
            org.hamcrest.Matchers.containsString(
                "\"data\":[0.1,1.0E10,\"NaN\",\"-Infinity\",-0.0,1.6777216E7]"))
        .body("timing.totalMicros.toDouble()", closeTo(30e6, 30e6));
  }
}
