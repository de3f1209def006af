package dev.athanor.service.rest;

import static dev.athanor.service.rest.RestTest.problem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;

import dev.athanor.service.AthanorApplication;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests tensors without elements in all formats, in calls and in pipelines. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class EmptyTensorsTest {

  private static final String EMPTY = "{\"dtype\": \"f32\", \"shape\": [0, 3], \"data\": []}";

  @LocalServerPort int port;
  private RequestSpecification spec = new RequestSpecBuilder().build();

  @BeforeEach
  void connect() {
    spec = OpenApiFilter.client(port);
  }

  private RequestSpecification given() {
    return io.restassured.RestAssured.given().spec(spec);
  }

  private Response post(String path, String body) {
    return given()
        .contentType("application/json")
        .body(body.getBytes(StandardCharsets.UTF_8))
        .post(path);
  }

  private String upload() {
    return post("/tensors", EMPTY).then().statusCode(201).extract().path("handle");
  }

  private String handle() {
    return "{\"handle\": \"%s\"}".formatted(upload());
  }

  @ParameterizedTest
  @ValueSource(strings = {"application/x-npy", "application/x-safetensors"})
  void readsWhatItWrites(String media) {
    var file =
        given()
            .accept(media)
            .get("/tensors/" + upload() + "/data")
            .then()
            .statusCode(200)
            .extract()
            .asByteArray();
    given()
        .contentType(media)
        .body(file)
        .post("/tensors")
        .then()
        .statusCode(201)
        .body("shape", equalTo(List.of(0, 3)), "bytes", equalTo(0));
  }

  @Test
  void transfersNoBytes() {
    var tensor =
        given()
            .contentType("application/octet-stream")
            .queryParam("dtype", "i64")
            .queryParam("shape", "2,0")
            .post("/tensors")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    var data = "/tensors/" + tensor + "/data";
    given().accept("application/octet-stream").get(data).then().statusCode(200);
    given().accept("application/json").get(data).then().body("data", hasSize(0));
    given()
        .contentType("application/octet-stream")
        .put(data)
        .then()
        .statusCode(200)
        .body("version", equalTo(2));
    problem(
        given().accept("application/octet-stream").header("Range", "bytes=0-3").get(data),
        416,
        "range-not-satisfiable",
        "Range",
        "Range is bytes=0-3, but the tensor has 0 bytes");
    problem(
        given().contentType("application/octet-stream").body(new byte[8]).put(data),
        400,
        "invalid-tensor",
        "body",
        "i64[2, 0] needs 0 bytes of data, got 8");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[0, 3] | []",
        "[0] | []",
        "[2, 0] | []",
        "[2, 0] | [[], []]",
        "[2, 0, 3] | [[], []]",
        "[1, 2, 0] | [[[], []]]",
      })
  void acceptsNestedLists(String shape, String data) {
    relu(shape, data).then().statusCode(200).body("outputs.y.data", hasSize(0));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[0, 3] | [1] | f32[0, 3] needs 0 numbers, got 1",
        "[2, 3] | [[], []] | f32[2, 3] needs 6 numbers, got 0",
        "[3, 0] | [[], []] | inputs.x.data is nested as [2, 0], but the shape is [3, 0]",
        "[2, 0] | [[[]], [[]]] | inputs.x.data is nested as [2, 1, 0], but the shape is [2, 0]",
        "[2, 0] | [[], [[]]] | inputs.x.data is ragged: its lists of depth 2 have different lengths",
      })
  void refusesOtherLists(String shape, String data, String message) {
    var refused = relu(shape, data);
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(refused.<String>path("detail")).isEqualTo(message);
  }

  private Response relu(String shape, String data) {
    return post(
        "/ops/relu",
        "{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": %s, \"data\": %s}}}"
            .formatted(shape, data));
  }

  @Test
  void computesOnThem() {
    var matrix = "{\"dtype\": \"f32\", \"shape\": [3, 2], \"data\": [1, 2, 3, 4, 5, 6]}";
    for (var empty : List.of(EMPTY, handle())) {
      post("/ops/matmul", "{\"inputs\": {\"a\": %s, \"b\": %s}}".formatted(empty, matrix))
          .then()
          .statusCode(200)
          .body("outputs.c.shape", equalTo(List.of(0, 2)), "outputs.c.data", hasSize(0));
      post("/ops/softmax", "{\"inputs\": {\"x\": %s}}".formatted(empty))
          .then()
          .statusCode(200)
          .body("outputs.y.shape", equalTo(List.of(0, 3)));
      // the sum of no numbers is 0
      post(
              "/ops/reduce",
              "{\"inputs\": {\"x\": %s}, \"attributes\": {\"kind\": \"sum\", \"axis\": 0}}"
                  .formatted(empty))
          .then()
          .statusCode(200)
          .body("outputs.y.data", equalTo(List.of(0f, 0f, 0f)));
      problem(
          post(
              "/ops/reduce",
              "{\"inputs\": {\"x\": %s}, \"attributes\": {\"kind\": \"max\", \"axis\": 0}}"
                  .formatted(empty)),
          400,
          "shape-mismatch",
          "inputs.x",
          "input \"x\" has shape [0, 3], but reduce requires elements to compute its result; every extent must be at least 1");
    }
  }

  @Test
  void keepsAndReplacesThem() {
    var target = upload();
    post(
            "/ops/relu",
            "{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"into\": \"%s\"}}}"
                .formatted(EMPTY, target))
        .then()
        .statusCode(200)
        .body("outputs.y.version", equalTo(2));
    var kept =
        post(
                "/ops/relu",
                "{\"inputs\": {\"x\": %s}, \"outputs\": {\"y\": {\"as\": \"handle\"}}}"
                    .formatted(handle()))
            .then()
            .statusCode(200)
            .extract()
            .<String>path("outputs.y.handle");
    given().get("/tensors/" + kept).then().body("shape", equalTo(List.of(0, 3)));
  }

  /** Several runs, of which the last are captured. */
  @Test
  void runsThroughPipelines() {
    var tensor = handle();
    for (int run = 0; run < 4; run++) {
      post(
              "/pipelines/run",
              """
              {"inputs": {"x": %s, "cache": {"dtype": "f32", "shape": [2, 3], "data": [1, 2, 3, 4, 5, 6]}},
               "steps": [
                 {"op": "relu", "inputs": {"x": "x"}, "outputs": {"y": "r"}},
                 {"op": "concat", "inputs": {"x0": "cache", "x1": "r"}, "attributes": {"axis": 0}, "outputs": {"y": "c"}},
                 {"op": "scale", "inputs": {"x": "r"}, "attributes": {"factor": 2}, "outputs": {"y": "e"}}],
               "outputs": {"c": {}, "e": {}, "r": {"as": "handle"}}}
              """
                  .formatted(tensor))
          .then()
          .statusCode(200)
          .body(
              "outputs.c.data",
              equalTo(List.of(1f, 2f, 3f, 4f, 5f, 6f)),
              "outputs.e.shape",
              equalTo(List.of(0, 3)),
              "outputs.r.shape",
              equalTo(List.of(0, 3)));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"shape\": [5, 0] | [5, 0]",
        "\"shape\": [0, 3], \"offset\": 6 | [0, 3]",
        "\"shape\": [3, 0], \"strides\": [1, 3] | [3, 0]",
      })
  void readsNoElementsOfATensor(String view, String shape) {
    boolean whole = !view.contains("offset") && !view.contains("strides");
    var tensor =
        post(
                "/tensors",
                whole
                    ? EMPTY
                    : "{\"dtype\": \"f32\", \"shape\": [2, 3], \"data\": [1, 2, 3, 4, 5, 6]}")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    post("/ops/relu", "{\"inputs\": {\"x\": {\"handle\": \"%s\", %s}}}".formatted(tensor, view))
        .then()
        .statusCode(200)
        .body("outputs.y.shape.toString()", equalTo(shape));
  }

  @Test
  void refusesAViewBehindTheLastElement() {
    problem(
        post(
            "/ops/relu",
            "{\"inputs\": {\"x\": {\"handle\": \"%s\", \"shape\": [0], \"offset\": 1}}}"
                .formatted(upload())),
        400,
        "shape-mismatch",
        "inputs.x",
        "inputs.x has shape [0], offset 1 and strides [1], but the tensor of shape [0, 3] has only 0 elements");
  }

  @Test
  void infersOnThem() {
    post(
            "/v2/models/relu/infer",
            "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [0, 3], \"data\": []}]}")
        .then()
        .statusCode(200)
        .body("outputs[0].shape", equalTo(List.of(0, 3)), "outputs[0].data", hasSize(0));
    var json =
        "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [0, 3], \"parameters\": {\"binary_data_size\": 0}}]}";
    given()
        .contentType("application/octet-stream")
        .header("Inference-Header-Content-Length", json.length())
        .body(json.getBytes(StandardCharsets.UTF_8))
        .post("/v2/models/relu/infer")
        .then()
        .statusCode(200);
  }
}
