package dev.athanor.service.rest;

import static dev.athanor.service.rest.RestTest.problem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.AthanorApplication;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests which ops can write into one of their inputs. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class InPlaceTest {

  @LocalServerPort int port;
  private RequestSpecification spec = new RequestSpecBuilder().build();

  @BeforeEach
  void connect() {
    spec = OpenApiFilter.client(port);
  }

  private RequestSpecification json(String body) {
    return io.restassured.RestAssured.given()
        .spec(spec)
        .contentType("application/json")
        .body(body.getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  /** Uploads the 2×2 matrix 1, 2, 3, 4 and returns its handle. */
  private String matrix() {
    return json("{\"dtype\": \"f32\", \"shape\": [2, 2], \"data\": [1, 2, 3, 4]}")
        .post("/tensors")
        .then()
        .statusCode(201)
        .extract()
        .path("handle");
  }

  /** Runs an op. {@code T} in the inputs stands for the handle, which is also the output. */
  private Response run(String op, String handle, String inputs, String attributes, String output) {
    return json("{\"inputs\": {%s}, \"attributes\": {%s}, \"outputs\": {\"%s\": {\"into\": \"%s\"}}}"
            .formatted(
                inputs.replace("T", "{\"handle\": \"" + handle + "\"}"),
                attributes,
                output,
                handle))
        .post("/ops/" + op);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          add    | "a": T, "b": T  | `` | 2, 4, 6, 8
          add    | "a": T, "b": {"dtype": "f32", "shape": [2], "data": [10, 20]} | `` | 11, 22, 13, 24
          mul    | "a": {"dtype": "f32", "shape": [1], "data": [3]}, "b": T | `` | 3, 6, 9, 12
          scale  | "x": T | "factor": 0.5 | 0.5, 1, 1.5, 2
          relu   | "x": T | `` | 1, 2, 3, 4
          gelu   | "x": T | "form": "tanh" | 0.841192, 1.954598, 2.996363, 3.999930
          silu   | "x": T | `` | 0.731059, 1.761594, 2.857722, 3.928055
          tanh   | "x": T | `` | 0.761594, 0.964028, 0.995055, 0.999329
          swiglu | "gate": T, "up": T | `` | 0.731059, 3.523188, 8.573166, 15.712220
          bias-activation | "x": T, "bias": {"dtype": "f32", "shape": [2], "data": [-5, 0]} | "activation": "relu" | 0, 2, 0, 4
          cast   | "x": T | "to": "f32" | 1, 2, 3, 4
          """)
  void elementwiseOpsRunInPlace(String op, String inputs, String attributes, String expected) {
    var handle = matrix();
    run(op, handle, inputs, attributes, "y")
        .then()
        .statusCode(200)
        .body("outputs.y.handle", equalTo(handle))
        .body("outputs.y.version", equalTo(2));
    var values = expected.split(", ", -1);
    var data =
        io.restassured.RestAssured.given()
            .spec(spec)
            .accept("application/json")
            .get("/tensors/" + handle + "/data")
            .jsonPath()
            .getList("data", Float.class);
    for (int i = 0; i < values.length; i++) {
      assertThat(data.get(i))
          .as("element %d", i)
          .isCloseTo(Float.parseFloat(values[i]), offset(1e-4f));
    }
  }

  /** Doubles a tensor in place, with further members of the target and a header. */
  private Response twice(String handle, String conditions) {
    return json("{\"inputs\": {\"x\": {\"handle\": \"%1$s\"}}, \"attributes\": {\"factor\": 2}, \"outputs\": {\"y\": {\"into\": \"%1$s\"%2$s}}}"
            .formatted(handle, conditions))
        .header("Idempotency-Key", "twice-" + handle + conditions)
        .post("/ops/scale");
  }

  @Test
  void aRepeatedUpdateWithItsIdempotencyKeyRunsOnce() {
    var handle = matrix();
    for (int i = 0; i < 2; i++) {
      twice(handle, "").then().statusCode(200).body("outputs.y.version", equalTo(2));
    }
    assertThat(data(handle)).containsExactly(2f, 4f, 6f, 8f);
  }

  @Test
  void theKeyOfAnUpdateIsForgottenAfterManyUpdates() {
    var handle = matrix();
    twice(handle, "").then().statusCode(200);
    var same =
        "{\"inputs\": {\"x\": {\"handle\": \"%1$s\"}}, \"attributes\": {\"factor\": 1}, \"outputs\": {\"y\": {\"into\": \"%1$s\"}}}";
    for (int i = 1; i < 64; i++) {
      json(same.formatted(handle)).post("/ops/scale").then().statusCode(200);
    }
    twice(handle, "").then().statusCode(200).body("outputs.y.version", equalTo(2));
    json(same.formatted(handle)).post("/ops/scale").then().statusCode(200);
    twice(handle, "").then().statusCode(200).body("outputs.y.version", equalTo(67));
  }

  @Test
  void aRepeatedPipelineWithItsIdempotencyKeyRunsOnce() {
    var handle = matrix();
    for (var expected : List.of(2, 2)) {
      pipeline(handle, "", "").then().statusCode(200).body("outputs.z.version", equalTo(expected));
    }
    assertThat(data(handle)).containsExactly(4f, 8f, 12f, 16f);
    problem(
        json("{\"steps\": [{\"op\": \"scale\", \"inputs\": {\"x\": \"%s\"}, \"attributes\": {\"factor\": 2}, \"outputs\": {\"y\": \"y\"}}]}"
                .formatted(handle))
            .header("Idempotency-Key", "pipeline")
            .post("/pipelines/run"),
        400,
        "invalid-attribute",
        "Idempotency-Key",
        "Idempotency-Key is for requests that keep all outputs on the device, but this request names none; request a handle or omit the key");
  }

  /** Doubles a tensor in place twice, with a step in between and further members of the target. */
  private Response pipeline(String handle, String between, String conditions) {
    return json("""
    {"steps": [
      {"op": "scale", "inputs": {"x": "%1$s"}, "attributes": {"factor": 2}, "outputs": {"y": "y"}}%2$s,
      {"op": "scale", "inputs": {"x": "y"}, "attributes": {"factor": 2}, "outputs": {"y": "z"}}],
     "outputs": {"z": {"into": "%1$s"%3$s}}}
    """
            .formatted(handle, between, conditions))
        .header("Idempotency-Key", "pipeline-" + handle + between.hashCode() + conditions)
        .post("/pipelines/run");
  }

  @Test
  void aTargetMayRequireAVersion() {
    var handle = matrix();
    twice(handle, ", \"version\": 1").then().statusCode(200).body("outputs.y.version", equalTo(2));
    problem(
        twice(handle, ", \"version\": 3"),
        412,
        "version-mismatch",
        "outputs.y.version",
        "outputs.y.version is 3, but %s has version 2; read the tensor again".formatted(handle));
    problem(
        pipeline(handle, "", ", \"version\": 1"),
        412,
        "version-mismatch",
        "outputs.z.version",
        "outputs.z.version is 1, but %s has version 2; read the tensor again".formatted(handle));
    assertThat(data(handle)).containsExactly(2f, 4f, 6f, 8f);
    problem(
        json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}, \"attributes\": {\"factor\": 2}, \"outputs\": {\"y\": {\"as\": \"handle\", \"version\": 1}}}"
                .formatted(handle))
            .post("/ops/scale"),
        400,
        "invalid-attribute",
        "outputs.y.version",
        "outputs.y.version is given without into; it is a condition on the tensor to overwrite");
  }

  @Test
  void aTargetMayRequireThatNothingIsCopied() {
    var handle = matrix();
    var inPlace = ", \"inPlace\": true";
    twice(handle, inPlace).then().statusCode(200).body("outputs.y.version", equalTo(2));
    pipeline(handle, "", inPlace).then().statusCode(200).body("outputs.z.version", equalTo(3));
    // the last step reads the old contents
    var reads =
        ", {\"op\": \"scale\", \"inputs\": {\"x\": \"y\"}, \"attributes\": {\"factor\": 1}, \"outputs\": {\"y\": \"w\"}},"
            + " {\"op\": \"add\", \"inputs\": {\"a\": \"%s\", \"b\": \"w\"}, \"outputs\": {\"y\": \"v\"}}"
                .formatted(handle);
    pipeline(handle, reads, "").then().statusCode(200).body("outputs.z.version", equalTo(4));
    update(matrix(), inPlace, "{\"handle\": \"%s\"}").then().statusCode(200);
    var other = matrix();
    problem(
        update(other, inPlace, "{\"dtype\": \"f32\", \"shape\": [2, 2], \"data\": [1, 2, 3, 4]}"),
        409,
        "handle-in-use",
        "outputs.y.inPlace",
        "output \"y\" cannot be computed in place in %s; update the tensor by ops that work in place, after the last step that reads its old contents, or omit inPlace to copy it"
            .formatted(other));
    assertThat(data(other)).containsExactly(1f, 2f, 3f, 4f);
  }

  /** Writes a row into a matrix, which is the target itself or another. */
  private Response update(String target, String conditions, String into) {
    return json("""
    {"inputs": {"into": %s, "x": {"dtype": "f32", "shape": [1, 2], "data": [8, 9]}},
     "attributes": {"offsets": [1, 0]}, "outputs": {"y": {"into": "%s"%s}}}
    """
            .formatted(into.formatted(target), target, conditions))
        .post("/ops/copy");
  }

  @Test
  void runsInPlaceWithADeadline() {
    var handle = matrix();
    json("{\"inputs\": {\"x\": {\"handle\": \"%1$s\"}}, \"attributes\": {\"factor\": 2}, \"outputs\": {\"y\": {\"into\": \"%1$s\"}}}"
            .formatted(handle))
        .header("X-Deadline-Ms", 600_000)
        .post("/ops/scale")
        .then()
        .statusCode(200)
        .body("outputs.y.version", equalTo(2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          matmul    | "a": T, "b": {"dtype": "f32", "shape": [2, 2], "data": [1, 0, 0, 1]} | `` | c | a
          softmax   | "x": T | `` | y | x
          rms-norm  | "x": T, "weight": {"dtype": "f32", "shape": [2], "data": [1, 1]} | `` | y | x
          layer-norm | "x": T, "weight": {"dtype": "f32", "shape": [2], "data": [1, 1]}, "bias": {"dtype": "f32", "shape": [2], "data": [1, 1]} | `` | y | x
          transpose | "x": T | `` | y | x
          """)
  void otherOpsRejectInPlaceOutputs(
      String op, String inputs, String attributes, String output, String input) {
    var handle = matrix();
    problem(
        run(op, handle, inputs, attributes, output),
        409,
        "handle-in-use",
        "outputs.%s.into".formatted(output),
        "outputs.%s.into is %s, which is also the input \"%s\"; %s cannot run in place, so name another tensor"
            .formatted(output, handle, input, op));
  }

  /** A broadcast or reshaped input is read at other positions than those written. */
  @Test
  void rejectsInputsOfAnotherShape() {
    var handle = matrix();
    problem(
        json("{\"inputs\": {\"a\": {\"handle\": \"%1$s\"}, \"b\": {\"handle\": \"%1$s\", \"shape\": [1, 2, 2]}}, \"outputs\": {\"y\": {\"into\": \"%1$s\"}}}"
                .formatted(handle))
            .post("/ops/add"),
        409,
        "handle-in-use",
        "outputs.y.into",
        "outputs.y.into is %s, which is also the input \"a\" of type f32[2, 2]; to run in place it must be f32[1, 2, 2] like the output"
            .formatted(handle));
    problem(
        json("{\"inputs\": {\"a\": {\"handle\": \"%1$s\", \"shape\": [4]}, \"b\": {\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}}, \"outputs\": {\"y\": {\"into\": \"%1$s\"}}}"
                .formatted(handle))
            .post("/ops/add"),
        400,
        "shape-mismatch",
        "outputs.y.into",
        "outputs.y.into has type f32[2, 2], but output \"y\" has type f32[4]; they must be equal");
  }

  private List<Float> data(String handle) {
    return io.restassured.RestAssured.given()
        .spec(spec)
        .accept("application/json")
        .get("/tensors/" + handle + "/data")
        .jsonPath()
        .getList("data", Float.class);
  }

  @Test
  void copyChangesAPartOfATensor() {
    var handle = matrix();
    run(
            "copy",
            handle,
            "\"into\": T, \"x\": {\"dtype\": \"f32\", \"shape\": [1, 2], \"data\": [5, 6]}, \"at\": {\"dtype\": \"i64\", \"shape\": [], \"data\": [1]}",
            "",
            "y")
        .then()
        .statusCode(200)
        .body("outputs.y.version", equalTo(2));
    assertThat(data(handle)).containsExactly(1f, 2f, 5f, 6f);
    problem(
        run(
            "copy",
            handle,
            "\"into\": {\"dtype\": \"f32\", \"shape\": [2, 2], \"data\": [0, 0, 0, 0]}, \"x\": T",
            "",
            "y"),
        409,
        "handle-in-use",
        "outputs.y.into",
        "outputs.y.into is %s, which is also the input \"x\"; copy cannot run in place, so name another tensor"
            .formatted(handle));
  }

  /**
   * A pipeline changes a tensor in several steps. A step that reads the old contents afterwards
   * sees them.
   */
  @ParameterizedTest
  @CsvSource({"new, '5, 6, 5, 6', '5, 6, 5, 6', 0", "T, '1, 2, 3, 4', '5, 6, 5, 6', 16"})
  void pipelineChangesPartsOfATensor(String read, String seen, String expected, int copied) {
    var handle = matrix();
    var result =
        json("""
        {"inputs": {"row": {"dtype": "f32", "shape": [1, 2], "data": [5, 6]},
                    "first": {"dtype": "i32", "shape": [], "data": [0]}},
         "steps": [
           {"op": "copy", "inputs": {"into": "T", "x": "row", "at": "first"}, "outputs": {"y": "old"}},
           {"op": "copy", "inputs": {"into": "old", "x": "row"}, "attributes": {"offsets": [1, 0]}, "outputs": {"y": "new"}},
           {"op": "scale", "inputs": {"x": "READ"}, "outputs": {"y": "seen"}}],
         "outputs": {"new": {"into": "T"}, "seen": {}}}
        """
                .replace("READ", read)
                .replace("T", handle))
            .header("X-Deadline-Ms", 600_000)
            .post("/pipelines/run");
    result.then().statusCode(200).body("outputs.new.version", equalTo(2));
    assertThat(
            result.jsonPath().getList("steps.copiedBytes", Integer.class).stream()
                .mapToInt(bytes -> bytes == null ? 0 : bytes)
                .sum())
        .isEqualTo(copied);
    assertThat(result.jsonPath().getList("outputs.seen.data", Float.class))
        .isEqualTo(numbers(seen));
    assertThat(data(handle)).isEqualTo(numbers(expected));
  }

  private static List<Float> numbers(String text) {
    return Stream.of(text.split(", ", -1)).map(Float::valueOf).toList();
  }

  /** A pipeline writes such tensors after all steps that read them. */
  @Test
  void pipelineCanOverwriteItsInputs() {
    var handle = matrix();
    json("""
    {"steps": [
      {"op": "matmul", "inputs": {"a": "%1$s", "b": "%1$s"}, "outputs": {"c": "square"}},
      {"op": "add", "inputs": {"a": "square", "b": "%1$s"}, "outputs": {"y": "sum"}}],
     "outputs": {"sum": {"into": "%1$s"}}}
    """
            .formatted(handle))
        .post("/pipelines/run")
        .then()
        .statusCode(200)
        .body("outputs.sum.version", equalTo(2));
    assertThat(
            io.restassured.RestAssured.given()
                .spec(spec)
                .accept("application/json")
                .get("/tensors/" + handle + "/data")
                .jsonPath()
                .getList("data", Float.class))
        .containsExactly(8f, 12f, 18f, 26f);
  }
}
