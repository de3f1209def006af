package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.matchesPattern;
import static org.hamcrest.Matchers.nullValue;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.testing.Timeouts;
import io.restassured.response.Response;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests several ops in one request. */
class PipelineTest extends RestTest {

  private static final String X = "{\"dtype\": \"f32\", \"shape\": [2], \"data\": [1.5, -2]}";

  @Autowired StreamPool streams;
  private int buffers;

  @BeforeEach
  void count() {
    buffers = settledBuffers();
  }

  @AfterEach
  void releasesEverything() {
    await().until(() -> streams.busy() + streams.waiting() == 0);
    assertThat(device.wasFreedDirty()).as("memory was freed without zeroing").isFalse();
  }

  private Response run(String body) {
    return json(body.replace("X", X)).post("/pipelines/run");
  }

  private static String body(String inputs, String outputs, String... steps) {
    return "{\"inputs\": {%s}, \"outputs\": {%s}, \"steps\": [%s]}"
        .formatted(inputs, outputs, String.join(", ", steps));
  }

  private static String identity(String from, String to) {
    return "{\"op\": \"identity\", \"inputs\": {\"x\": \"%s\"}, \"outputs\": {\"y\": \"%s\"}}"
        .formatted(from, to);
  }

  private static String concat(String a, String b, String to) {
    return "{\"op\": \"concat\", \"inputs\": {\"a\": \"%s\", \"b\": \"%s\"}, \"outputs\": {\"c\": \"%s\"}}"
        .formatted(a, b, to);
  }

  @Test
  void stepsReadInputsHandlesAndOutputsOfEarlierSteps() {
    var handle = tensor(7);
    run(body("\"x\": X", "\"z\": {}", concat("x", handle, "h"), concat("h", "x", "z")))
        .then()
        .statusCode(200)
        .header("Server-Timing", matchesPattern("prepare;dur=.*, queue;dur=.*, total;dur=[0-9.]+"))
        .body("device", equalTo("fake:0"))
        .body("steps.op", contains("concat", "concat"))
        .body("steps.kernel", contains("concat", "concat"))
        .body("outputs.size()", equalTo(1))
        .body("outputs.z.data", contains(1.5f, -2f, 7f, 1.5f, -2f));
    assertThat(device.openBuffers()).isEqualTo(buffers + 1); // the handle's
  }

  @Test
  void returnsUnreadOutputsByDefault() {
    run("{\"inputs\": {\"x\": X}, \"steps\": [%s, %s, %s]}"
            .formatted(identity("x", "a"), identity("a", "b"), identity("a", "c")))
        .then()
        .statusCode(200)
        .body("outputs.keySet()", contains("b", "c"));
    problem(
        run(
            "{\"inputs\": {\"x\": X}, \"steps\": [{\"op\": \"identity\", \"inputs\": {\"x\": \"x\"}}]}"),
        400,
        "invalid-attribute",
        "outputs",
        "the pipeline has no outputs; name an output in a step or request one in outputs");
  }

  @Test
  void keepsOutputsAndWritesThemIntoTensors() {
    var into = tensor(0, 0);
    var kept =
        run(body(
                "\"x\": X",
                "\"h\": {\"as\": \"handle\"}, \"z\": {\"into\": \"%s\"}, \"b\": {\"encoding\": \"base64\"}"
                    .formatted(into),
                identity("x", "h"),
                identity("h", "z"),
                identity("z", "b")))
            .then()
            .statusCode(200)
            .body("outputs.keySet()", contains("h", "z", "b"))
            .body("outputs.z.handle", equalTo(into))
            .body("outputs.z.version", equalTo(2))
            .body("outputs.b.base64", equalTo("AADAPwAAAMA="))
            .extract()
            .<String>path("outputs.h.handle");
    for (var handle : List.of(into, kept)) {
      given()
          .accept("application/json")
          .get("/tensors/" + handle + "/data")
          .then()
          .body("data", contains(1.5f, -2f));
    }
  }

  @Test
  void holdsIntermediateResultsInOneBuffer() {
    TestOps.Identity.AT_GATE.set(0);
    var last =
        "{\"op\": \"identity\", \"inputs\": {\"x\": \"c\"}, \"attributes\": {\"gate\": true}, \"outputs\": {\"y\": \"d\"}}";
    var running =
        CompletableFuture.supplyAsync(
            () ->
                run(
                    body(
                        "\"x\": X",
                        "",
                        identity("x", "a"),
                        concat("a", "x", "b"),
                        identity("b", "c"),
                        last)),
            Executors.newVirtualThreadPerTaskExecutor());
    await().until(() -> TestOps.Identity.AT_GATE.get() == 1);
    int open = device.openBuffers();
    TestOps.Identity.GATE.release();
    running.join().then().statusCode(200).body("outputs.keySet()", contains("d"));
    assertThat(open).isEqualTo(buffers + 1);
    await().until(() -> device.openBuffers() == buffers);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"op": "nope"}                                            | 404 | unknown-op        | steps[1].op         | Unknown op "nope". GET /ops lists all ops.
          {"inputs": {}}                                            | 404 | unknown-op        | steps[1].op         | steps[1].op is missing; it names the op to run
          {"op": "identity", "input": {}}                           | 400 | unknown-field     | steps[1].input      | steps[1].input is unknown; known keys are op, inputs, attributes, outputs
          {"op": "identity"}                                        | 400 | missing-input     | steps[1].inputs.x   | input "x" […] is missing; the inputs of identity are x
          {"op": "identity", "inputs": {"q": "h"}}                  | 400 | unknown-field     | steps[1].inputs.q   | identity has no input "q"; its inputs are x
          {"op": "identity", "inputs": {"x": 1}}                    | 400 | invalid-tensor    | steps[1].inputs.x   | steps[1].inputs.x must be a string, got a number
          {"op": "identity", "inputs": {"x": "late"}, "outputs": {"y": "late"}} | 400 | missing-input | steps[1].inputs.x | steps[1].inputs.x is "late", which is neither a pipeline input, nor an output of an earlier step, nor the handle or name of a stored tensor
          {"op": "identity", "inputs": {"x": "t_00000000000000000000000000000000_test"}} | 404 | unknown-handle | steps[1].inputs.x | Unknown tensor t_00000000000000000000000000000000_test
          {"op": "identity", "inputs": {"x": "h"}, "outputs": {"z": "q"}} | 400 | unknown-field | steps[1].outputs.z | identity has no output "z"; its outputs are y
          {"op": "identity", "inputs": {"x": "h"}, "outputs": {"y": "x"}} | 400 | invalid-attribute | steps[1].outputs.y | steps[1].outputs.y is "x", which is already defined; names must be unique within the pipeline
          {"op": "identity", "inputs": {"x": "h"}, "outputs": {"y": " "}} | 400 | invalid-attribute | steps[1].outputs.y | steps[1].outputs.y has the name " "; a name must have 1 to 128 printable characters and must not look like a handle
          {"op": "identity", "inputs": {"x": "h"}, "attributes": {"no": 1}} | 400 | unknown-field | steps[1].attributes.no | identity has no attribute "no"; its attributes are gate, factor, mode
          {"op": "identity", "inputs": {"x": "h"}, "attributes": {"mode": "c"}} | 400 | invalid-attribute | steps[1].attributes.mode | attribute "mode" must be one of a, b, got "c"
          {"op": "concat", "inputs": {"a": "m"}}                    | 400 | shape-mismatch    | steps[1].inputs.a   | a must have rank 1, got [1, 1]
          """)
  void reportsInvalidStepsBeforeRunningAny(
      String step, int status, String code, String field, String detail) {
    // the response would be this fault if anything ran
    device.failWith(new DeviceException.KernelFault("identity_f32", List.of("ran")));
    var inputs = "\"x\": X, \"m\": {\"dtype\": \"f32\", \"shape\": [1, 1], \"data\": [1]}";
    problem(
            run(body(inputs, "", identity("x", "h"), step, identity("m", "last"))),
            status,
            code,
            field,
            detail)
        .body("step", equalTo(1));
    device.failWith(null);
    assertThat(device.openBuffers()).isEqualTo(buffers);
  }

  @Test
  void reportsInvalidPipelines() {
    problem(
        run("{\"steps\": []}"),
        400,
        "invalid-attribute",
        "steps",
        "steps has 0 entries; a pipeline has 1 to 8192");
    problem(
        run("{\"steps\": {}}"),
        400,
        "invalid-attribute",
        "steps",
        "steps must be a list of objects, got an object");
    problem(
        run(
            body(
                "\"x\": X",
                "",
                java.util.Collections.nCopies(8_193, "{\"op\": \"identity\"}")
                    .toArray(String[]::new))),
        400,
        "invalid-attribute",
        "steps",
        "steps has more than 8192 entries, which is the limit");
    problem(
        run(body("\"x\": X, \"idle\": X", "", identity("x", "h"))),
        400,
        "unknown-field",
        "inputs.idle",
        "inputs.idle is not read by any step; remove it");
    problem(
        run(body("\"x\": X", "\"x\": {}", identity("x", "h"))),
        400,
        "unknown-field",
        "outputs.x",
        "outputs.x is not an output of any step; step outputs are: h");
    problem(
        run(body("\"x\": X", "\"h\": {\"dtype\": \"f16\"}", identity("x", "h"))),
        400,
        "unsupported-dtype",
        "outputs.h.dtype",
        "output \"h\" is f32, got f16");
    var read = tensor(1, 2);
    problem(
        run(body("", "\"h\": {\"into\": \"%s\"}".formatted(read), identity(read, "h"))),
        409,
        "handle-in-use",
        "outputs.h.into",
        "outputs.h.into is %s, which is also the input \"x\"; identity cannot run in place, so name another tensor"
            .formatted(read));
    problem(
        given().contentType("text/plain").body("{}").post("/pipelines/run"),
        415,
        "unsupported-media-type",
        "Content-Type",
        "Content-Type is text/plain; it must be application/json");
  }

  @Test
  void faultsNameTheStepAndChangeNothing() {
    var into = tensor(3, 4);
    int before = given().get("/tensors").then().extract().<List<?>>path("tensors").size();
    device.failWith(new DeviceException.KernelFault("identity_f32", List.of("thread 7")));
    json(body(
                "\"x\": X",
                "\"h\": {\"as\": \"handle\"}, \"z\": {\"into\": \"%s\"}".formatted(into),
                identity("x", "h"),
                identity("h", "z"))
            .replace("X", X))
        .header("X-Deadline-Ms", 60_000) // so each step is synchronized
        .post("/pipelines/run")
        .then()
        .statusCode(500)
        .body("op", equalTo("identity"))
        .body("step", equalTo(0));
    given()
        .accept("application/json")
        .get("/tensors/" + into + "/data")
        .then()
        .header("ETag", "\"1-json\"")
        .body("data", contains(3f, 4f));
    given().get("/tensors").then().body("tensors.size()", equalTo(before));
    assertThat(device.openBuffers()).isEqualTo(buffers + 1);
  }

  @Test
  void runsNoStepWithoutMemoryForAll() {
    var eight =
        given()
            .contentType("application/octet-stream")
            .body(new byte[8 << 20])
            .post("/tensors?dtype=u8&shape=" + (8 << 20))
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    run(body("", "\"w\": {\"as\": \"handle\"}", concat(eight, eight, "h"), concat("h", "h", "w")))
        .then()
        .statusCode(507)
        .body("step", nullValue())
        .body("type", equalTo("urn:athanor:problem:out-of-device-memory"));
    given().delete("/tensors/" + eight).then().statusCode(204);
    assertThat(device.openBuffers()).isEqualTo(buffers);
  }

  @Test
  void enforcesDeadlinesBetweenSteps() throws Exception {
    Timeouts.lengthen(200, this::enforcesDeadlineBetweenSteps);
  }

  private boolean enforcesDeadlineBetweenSteps(int deadline) {
    TestOps.Identity.AT_GATE.set(0);
    var into = tensor(3, 4);
    var gated = identity("x", "h").replace("\"op\"", "\"attributes\": {\"gate\": true}, \"op\"");
    var late =
        CompletableFuture.supplyAsync(
            () ->
                json(body(
                            "\"x\": X",
                            "\"z\": {\"into\": \"%s\"}".formatted(into),
                            gated,
                            identity("h", "z"))
                        .replace("X", X))
                    .header("X-Deadline-Ms", deadline)
                    .post("/pipelines/run"),
            Executors.newVirtualThreadPerTaskExecutor());
    await().until(() -> late.isDone() || TestOps.Identity.AT_GATE.get() == 1);
    var problem =
        problem(
            late.join(),
            504,
            "deadline-exceeded",
            null,
            "the call did not finish within its deadline of %d ms; no result was stored"
                .formatted(deadline));
    boolean ran = TestOps.Identity.AT_GATE.get() == 1;
    if (ran) {
      problem.body("step", equalTo(0));
      TestOps.Identity.GATE.release();
    } else {
      TestOps.Identity.openGate(streams);
    }
    await().until(() -> device.openBuffers() == buffers + 1);
    given().get("/tensors/" + into).then().body("version", equalTo(1));
    given().delete("/tensors/" + into).then().statusCode(204);
    return ran;
  }

  @Test
  void countsPipelines() {
    run(body("\"x\": X", "", identity("x", "h"), identity("h", "z"))).then().statusCode(200);
    run("{}").then().statusCode(400).body("op", nullValue()).body("outputs", nullValue());
    given()
        .get("/actuator/prometheus")
        .then()
        .body(
            containsString(
                "athanor_op_requests_total{device=\"fake:0\",op=\"pipeline\",outcome=\"ok\"}"))
        .body(
            containsString(
                "athanor_op_seconds_count{device=\"fake:0\",dtype=\"none\",op=\"pipeline\",phase=\"total\"}"));
  }
}
