package dev.athanor.service.rest;

import static dev.athanor.service.rest.RestTest.problem;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests reading parts of tensors in calls and pipelines. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class ViewsTest {

  private static final String MATRIX =
      "{\"dtype\": \"f32\", \"shape\": [3, 8], \"data\": %s}"
          .formatted(IntStream.range(0, 24).boxed().toList());

  @LocalServerPort int port;
  private RequestSpecification spec = new RequestSpecBuilder().build();

  @BeforeEach
  void connect() {
    spec = OpenApiFilter.client(port);
  }

  private Response post(String path, String body) {
    return given()
        .spec(spec)
        .contentType("application/json")
        .body(body.getBytes(StandardCharsets.UTF_8))
        .post(path);
  }

  /** Uploads the 3×8 matrix 0, 1, …, 23 and returns its handle. */
  private String matrix() {
    return post("/tensors", MATRIX).then().statusCode(201).extract().path("handle");
  }

  /** Returns the elements of a view, by a call that doubles them. */
  private Response twice(String handle, String view) {
    return post(
        "/ops/scale",
        "{\"inputs\": {\"x\": {\"handle\": \"%s\", %s}}, \"attributes\": {\"factor\": 2}}"
            .formatted(handle, view));
  }

  /** The same in a pipeline, of which the matrix is an intermediate. */
  private Response twiceOfIntermediate(String view) {
    return post(
        "/pipelines/run",
        """
        {"inputs": {"m": %s},
         "steps": [
           {"op": "scale", "inputs": {"x": "m"}, "outputs": {"y": "h"}},
           {"op": "scale", "inputs": {"x": {"ref": "h", %s}}, "attributes": {"factor": 2}, "outputs": {"y": "y"}}],
         "outputs": {"y": {}}}
        """
            .formatted(MATRIX, view));
  }

  private static List<Float> floats(String text) {
    return Stream.of(text.split(" ", -1)).map(Float::valueOf).toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "shape": [24]                                        | 0 | 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46
          "shape": [2, 4], "offset": 8                         | 0 | 16 18 20 22 24 26 28 30
          "shape": [3], "offset": 13                           | 12 | 26 28 30
          "shape": [3, 2], "offset": 6, "strides": [8, 1]      | 24 | 12 14 28 30 44 46
          "shape": [8, 3], "strides": [1, 8]                   | 96 | 0 16 32 2 18 34 4 20 36 6 22 38 8 24 40 10 26 42 12 28 44 14 30 46
          "shape": [2, 2], "offset": 23, "strides": [0, 0]     | 16 | 46 46 46 46
          "shape": [], "offset": 5                             | 4 | 10
          """)
  void readsParts(String view, int copied, String expected) {
    var call = twice(matrix(), view);
    call.then().statusCode(200);
    assertThat(call.jsonPath().getList("outputs.y.data", Float.class)).isEqualTo(floats(expected));
    var pipeline = twiceOfIntermediate(view);
    assertThat(pipeline.jsonPath().getList("steps.copiedBytes"))
        .last()
        .isEqualTo(copied == 0 ? null : copied);
    pipeline.then().statusCode(200);
    assertThat(pipeline.jsonPath().getList("outputs.y.data", Float.class))
        .isEqualTo(floats(expected));
  }

  /** The kernel names the copy of elements that are not dense. */
  @Test
  void namesCopies() {
    var handle = matrix();
    String dense = twice(handle, "\"shape\": [2, 4], \"offset\": 8").path("kernel");
    String strided = twice(handle, "\"shape\": [2, 4], \"strides\": [8, 1]").path("kernel");
    assertThat(dense).doesNotContain(",");
    assertThat(strided).startsWith("copy_").endsWith(", " + dense);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "shape": [25]                                    | shape-mismatch | .shape   | .shape is [25], but the tensor has shape [3, 8]; both must have the same number of elements
          "shape": [8], "offset": 17                       | shape-mismatch | ``       | has shape [8], offset 17 and strides [1], but the tensor of shape [3, 8] has only 24 elements
          "shape": [9, 9], "strides": [9223372036854775807, 9223372036854775807] | shape-mismatch | `` | has shape [9, 9], offset 0 and strides [9223372036854775807, 9223372036854775807], but the tensor of shape [3, 8] has only 24 elements
          "shape": [8], "offset": -1                       | invalid-tensor | .offset  | .offset must be an integer of at least 0, got -1
          "shape": [8], "strides": [-1]                    | invalid-tensor | .strides | .strides is [-1]; strides must be at least 0
          "shape": [8], "strides": [8, 1]                  | invalid-tensor | .strides | .strides is [8, 1]; give one number for each dimension of shape [8]
          "shape": [8], "offset": 1.5                      | invalid-tensor | .offset  | .offset must be an integer of at least 0, got 1.5
          """)
  void rejectsInvalidViews(String view, String code, String field, String message) {
    spec = new RequestSpecBuilder().setPort(port).build(); // some requests violate the schema
    for (var path : List.of("inputs.x", "steps[1].inputs.x")) {
      var response = path.startsWith("inputs") ? twice(matrix(), view) : twiceOfIntermediate(view);
      problem(
          response,
          400,
          code,
          path + (field == null ? "" : field),
          path + (message.startsWith(".") ? "" : " ") + message);
    }
  }

  @Test
  void rejectsInvalidSources() {
    spec = new RequestSpecBuilder().setPort(port).build(); // the requests violate the schema
    var pipeline =
        "{\"steps\": [{\"op\": \"scale\", \"inputs\": {\"x\": {%s}}, \"outputs\": {\"y\": \"y\"}}]}";
    problem(
        post("/pipelines/run", pipeline.formatted("\"shape\": [2]")),
        400,
        "invalid-tensor",
        "steps[0].inputs.x.ref",
        "steps[0].inputs.x.ref is missing; it names an earlier output, an input of the pipeline, or a stored tensor");
    problem(
        post("/pipelines/run", pipeline.formatted("\"handle\": \"t_1\"")),
        400,
        "unknown-field",
        "steps[0].inputs.x.handle",
        "steps[0].inputs.x.handle is unknown; known keys are ref, shape, offset, strides");
  }

  /** A step that updates a tensor in place cannot read a part of it that way. */
  @Test
  void rejectsViewsInPlace() {
    var handle = matrix();
    problem(
        post(
            "/ops/scale",
            "{\"inputs\": {\"x\": {\"handle\": \"%1$s\", \"shape\": [3, 8], \"strides\": [0, 1]}}, \"outputs\": {\"y\": {\"into\": \"%1$s\"}}}"
                .formatted(handle)),
        409,
        "handle-in-use",
        "outputs.y.into",
        "outputs.y.into is %s, of which the input \"x\" is a view; to run in place it must be the whole tensor"
            .formatted(handle));
  }

  /** In a pipeline the same takes place after the last step. */
  @Test
  void pipelineOverwritesATensorThatItViews() {
    var handle = matrix();
    post(
            "/pipelines/run",
            """
            {"steps": [
               {"op": "scale", "inputs": {"x": "T"}, "outputs": {"y": "h"}},
               {"op": "scale", "inputs": {"x": {"ref": "T", "shape": [3, 8], "strides": [1, 3]}}, "outputs": {"y": "y"}}],
             "outputs": {"y": {"into": "T"}}}
            """
                .replace("T", handle))
        .then()
        .statusCode(200);
    String data =
        given()
            .spec(spec)
            .accept("application/json")
            .get("/tensors/" + handle + "/data")
            .asString();
    assertThat(data).contains("[0.0,3.0,6.0,9.0,12.0,15.0,18.0,21.0,1.0,4.0,");
  }
}
