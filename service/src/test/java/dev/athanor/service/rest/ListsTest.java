package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.Safetensors;
import io.restassured.response.Response;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests attributes that are lists or texts, and ops with lists of inputs or outputs. */
class ListsTest extends RestTest {

  private static final String SAFETENSORS = "application/x-safetensors";

  private static final String ONE = "{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}";
  private static final String TWO = "{\"dtype\": \"f32\", \"shape\": [2], \"data\": [2, 3]}";
  private static final String THREE = "{\"dtype\": \"f32\", \"shape\": [3], \"data\": [4, 5, 6]}";

  private Response run(String op, String body) {
    return json(body.replace("ONE", ONE).replace("TWO", TWO).replace("THREE", THREE))
        .post("/ops/" + op);
  }

  @Test
  void runsWithAListOfInputs() {
    run("join", "{\"inputs\": {\"x\": ONE, \"x1\": TWO}, \"attributes\": {\"order\": \"x1 x0\"}}")
        .then()
        .statusCode(200)
        .body("outputs.y.data", contains(2f, 3f, 1f));
  }

  @Test
  void passesLongTextsWhole() {
    var order = "x0" + " x0".repeat(99);
    run("join", "{\"inputs\": {\"x0\": ONE}, \"attributes\": {\"order\": \"%s\"}}".formatted(order))
        .then()
        .statusCode(200)
        .body("outputs.y.shape", contains(100));
  }

  @Test
  void returnsTheFirstOutputsOfAList() {
    var answer =
        run(
            "split",
            """
            {"inputs": {"x": THREE}, "attributes": {"sizes": [2, 1], "factors": [0.5, 2]},
             "outputs": {"y1": {"as": "handle"}}}
            """);
    var handle =
        answer
            .then()
            .statusCode(200)
            .body("kernel", equalTo("split[0.5, 2.0]"))
            .body("outputs.y0.data", contains(4f, 5f))
            .body("outputs.y1.shape", contains(1))
            .body("outputs.y2", nullValue())
            .extract()
            .<String>path("outputs.y1.handle");
    given()
        .accept("application/json")
        .get("/tensors/" + handle + "/data")
        .then()
        .body("data", contains(6f));
    run(
            "split",
            """
            {"inputs": {"x": TWO}, "attributes": {"sizes": [1, 1]}, "outputs": {"y1": {"into": "%s"}}}
            """
                .formatted(handle))
        .then()
        .statusCode(200)
        .body("outputs.y1.version", equalTo(2));
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  private static byte[] file(Map<String, HostTensor> tensors) {
    var sorted = new TreeMap<>(tensors);
    var types = new TreeMap<String, TensorType>();
    sorted.forEach((name, tensor) -> types.put(name, tensor.type()));
    var file = new ByteArrayOutputStream();
    file.writeBytes(Safetensors.header(types, Map.of()).orElseThrow());
    sorted
        .values()
        .forEach(tensor -> file.writeBytes(tensor.data().toArray(ValueLayout.JAVA_BYTE)));
    return file.toByteArray();
  }

  @Test
  void queriesHaveListsAndTexts() {
    var handle = tensor(7, 8);
    given()
        .contentType(SAFETENSORS)
        .accept("application/json")
        .queryParam("x1", handle)
        .queryParam("order", "x1 x2 x0")
        .body(
            file(
                Map.of(
                    "x0", HostTensor.of(TensorType.of(DType.F32, 1), 1),
                    "x2", HostTensor.of(TensorType.of(DType.F32, 1), 2))))
        .post("/ops/join")
        .then()
        .statusCode(200)
        .body("outputs.y.data", contains(7f, 8f, 2f, 1f));
    given()
        .contentType(SAFETENSORS)
        .accept("application/json")
        .queryParam("x", handle)
        .queryParam("sizes", "1,1")
        .queryParam("factors", "0.5")
        .queryParam("y1", "handle")
        .body(file(Map.of()))
        .post("/ops/split")
        .then()
        .statusCode(200)
        .body("kernel", equalTo("split[0.5]"))
        .body("outputs.y0.data", contains(7f))
        .body("outputs.y1.bytes", equalTo(4));
    problem(
        given().contentType(SAFETENSORS).body(file(Map.of())).post("/ops/join?x4=t_1"),
        400,
        "unknown-field",
        "x4",
        "Unknown query parameter \"x4\"; known parameters are x0 … x3, x, order, y");
  }

  @Test
  void pipelinesPassOutputsOfAListToInputsOfAnother() {
    var pipeline =
        """
        {"inputs": {"in": %s},
         "steps": [
           {"op": "split", "inputs": {"x": "in"}, "attributes": {"sizes": [1, 1, 1], "factors": []},
            "outputs": {"y0": "a", "y2": "c"}},
           {"op": "join", "inputs": {"x0": "a", "x1": "c", "x2": "a"},
            "attributes": {"order": "x1 x0 x2"}, "outputs": {"y": "all"}}]}
        """
            .formatted(THREE);
    for (int run = 0; run < 3; run++) { // repeated pipelines are captured
      json(pipeline)
          .post("/pipelines/run")
          .then()
          .statusCode(200)
          .body("outputs.all.data", contains(6f, 4f, 4f));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "x1": "a"            | {"order": "x0"} | missing-input | steps[0].inputs.x0 | input "x0" […] is missing; the inputs of join are x0 … x3
          "x0": "a", "x4": "a" | {"order": "x0"} | unknown-field | steps[0].inputs.x4 | join has no input "x4"; its inputs are x0 … x3
          "x0": "a"            | {"order": [1]}  | invalid-attribute | steps[0].attributes.order | attribute "order" must be a text, got [1]
          "x0": "a"            | {"order": [[]]} | invalid-attribute | steps[0].attributes.order[0] | steps[0].attributes.order[0] must be a number, got a list
          """)
  void errorsOfStepsNameTheField(
      String inputs, String attributes, String code, String field, String detail) {
    problem(
        json("{\"inputs\": {\"a\": %s}, \"steps\": [{\"op\": \"join\", \"inputs\": {%s}, \"attributes\": %s}]}"
                .formatted(ONE, inputs, attributes))
            .post("/pipelines/run"),
        400,
        code,
        field,
        detail);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          join  | {"inputs": {"x0": ONE, "x3": ONE}, "attributes": {"order": "x0"}} | missing-input | inputs.x1 | input "x1" is missing but "x3" is given; the inputs of a list have consecutive numbers
          join  | {"inputs": {"x4": ONE}} | unknown-field | inputs.x4 | inputs.x4 is unknown; known keys are x0 … x3
          join  | {"inputs": {"x0": ONE}, "attributes": {"order": 1}} | invalid-attribute | attributes.order | attribute "order" must be a text, got 1
          join  | {"inputs": {"x0": ONE}, "attributes": {"order": "x0 \\u0007"}} | invalid-attribute | attributes.order | order names "?", which is not an input
          split | {"inputs": {"x": TWO}, "attributes": {"sizes": [1, "1"]}} | invalid-attribute | attributes.sizes[1] | attributes.sizes[1] must be a number, got "1"
          split | {"inputs": {"x": TWO}, "attributes": {"sizes": [1, 0.5]}} | invalid-attribute | attributes.sizes | attribute "sizes" must be from 1 to 100, got [1, 0.5]
          split | {"inputs": {"x": TWO}, "attributes": {"sizes": [1.5]}} | invalid-attribute | attributes.sizes | attribute "sizes" must be integers such as 0,2, got [1.5]
          split | {"inputs": {"x": TWO}, "attributes": {"sizes": [2]}, "outputs": {"y1": {}}} | invalid-attribute | outputs.y1 | split does not compute output "y1" with these attributes
          split | {"inputs": {"x": TWO}, "outputs": {"y4": {}}} | unknown-field | outputs.y4 | outputs.y4 is unknown; known keys are y0 … y3
          """)
  void reportsInvalidFields(String op, String body, String code, String field, String detail) {
    problem(run(op, body), 400, code, field, detail);
  }

  @Test
  void limitsTheLengthsOfListsAndTexts() {
    var text = "x".repeat(AttributeValues.MAX_CHARACTERS + 1);
    problem(
        run(
            "join",
            "{\"inputs\": {\"x0\": ONE}, \"attributes\": {\"order\": \"%s\"}}".formatted(text)),
        400,
        "invalid-attribute",
        "attributes.order",
        "attributes.order has 65537 characters; the limit is 65536");
    var list = "1" + ", 1".repeat(AttributeValues.MAX_ELEMENTS);
    problem(
        run(
            "split",
            "{\"inputs\": {\"x\": ONE}, \"attributes\": {\"sizes\": [%s]}}".formatted(list)),
        400,
        "invalid-attribute",
        "attributes.sizes",
        "attributes.sizes has more than 4096 elements, which is the limit");
  }

  @Test
  void catalogueShowsAListOnce() {
    given()
        .get("/ops/join")
        .then()
        .statusCode(200)
        .body("inputs.name", contains("x0"))
        .body("inputs[0].list", equalTo(Map.of("name", "x", "count", 4)))
        .body("attributes[0].type", equalTo("text"));
    given()
        .get("/ops/split")
        .then()
        .statusCode(200)
        .body("inputs[0].list", nullValue())
        .body("outputs.name", contains("y0"))
        .body("outputs[0].list.count", equalTo(4))
        .body("attributes.type", contains("integers", "numbers"))
        .body("attributes[0].maximum", equalTo(100));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          [2, 1] | [0.5]
          "2,1"  | "0.5"
          """)
  void inferenceHasListsAsArraysOrText(String sizes, String factors) {
    given()
        .contentType("application/json")
        .body(
            """
            {"parameters": {"sizes": %s, "factors": %s},
             "inputs": [{"name": "x", "shape": [3], "datatype": "FP32", "data": [4, 5, 6]}]}
            """
                .formatted(sizes, factors))
        .post("/v2/models/split/infer")
        .then()
        .statusCode(200)
        .body("parameters.kernel", equalTo("split[0.5]"))
        .body("outputs.name", contains("y0", "y1"))
        .body("outputs[1].data", contains(6f));
  }

  @Test
  void inferenceHasListsOfInputsAndTexts() {
    given()
        .contentType("application/json")
        .body(
            """
            {"parameters": {"order": "x0 x1%s"},
             "inputs": [{"name": "x1", "shape": [1], "datatype": "FP32", "data": [2]},
                        {"name": "x0", "shape": [1], "datatype": "FP32", "data": [1]}]}
            """
                .formatted(" x1".repeat(30)))
        .post("/v2/models/join/infer")
        .then()
        .statusCode(200)
        .body("outputs[0].shape", contains(32));
    given()
        .get("/v2/models/join/config")
        .then()
        .body("input.name", contains("x0", "x1", "x2", "x3"))
        .body("input.optional", contains(false, true, true, true));
    given().get("/v2/models/split").then().body("outputs.name", contains("y0"));
    problem(
        json("{\"inputs\": [{\"name\": \"x9\"}]}").post("/v2/models/join/infer"),
        400,
        "unknown-field",
        "inputs.x9",
        "inputs.x9 is unknown; the inputs are x0 … x3");
  }

  @Test
  void documentHasListsAndTexts() {
    var served = new OpenApi(given().get("/openapi.yaml").asString());
    var handle = Map.of("handle", "t_1");
    assertThat(
            violations(
                served,
                "join",
                Map.of(
                    "inputs", Map.of("x0", handle, "x1", handle, "x3", handle),
                    "attributes", Map.of("order", "x0"))))
        .isEmpty();
    assertThat(
            violations(
                served,
                "split",
                Map.of(
                    "inputs", Map.of("x", handle),
                    "attributes", Map.of("sizes", List.of(1, 2), "factors", List.of(0.5)),
                    "outputs", Map.of("y0", Map.of(), "y3", Map.of("as", "handle")))))
        .isEmpty();
    assertThat(
            violations(
                served,
                "join",
                Map.of(
                    "inputs", Map.of("x1", handle, "x4", handle),
                    "attributes", Map.of("order", List.of()))))
        .containsExactlyInAnyOrder(
            "request/inputs: required property 'x0' not found",
            "request/inputs: property 'x4' is not defined in the schema and the schema does not allow additional properties",
            "request/attributes/order: array found, string expected");
    assertThat(
            violations(
                served,
                "split",
                Map.of(
                    "inputs", Map.of("x", handle),
                    "attributes", Map.of("sizes", List.of(0), "factors", List.of("1")),
                    "outputs", Map.of("y4", Map.of()))))
        .containsExactlyInAnyOrder(
            "request/attributes/sizes/0: must have a minimum value of 1",
            "request/attributes/factors/0: string found, number expected",
            "request/outputs: property 'y4' is not defined in the schema and the schema does not allow additional properties");
  }

  private static List<String> violations(OpenApi document, String op, Map<String, ?> request) {
    var body = OpenApi.map(operation(document, op).get("requestBody"));
    var media = OpenApi.map(OpenApi.map(body.get("content")).get("application/json"));
    return document.violations(media.get("schema"), request, "request");
  }

  private static Map<?, ?> operation(OpenApi document, String op) {
    return OpenApi.map(document.operations().get("POST /ops/" + op));
  }

  @Test
  void documentHasQueryParametersOfLists() {
    var served = new OpenApi(given().get("/openapi.yaml").asString());
    var parameters = new TreeMap<String, Map<?, ?>>();
    for (var op : List.of("join", "split")) {
      ((List<?>) Objects.requireNonNull(operation(served, op).get("parameters")))
          .forEach(
              each -> parameters.put(op + "." + OpenApi.map(each).get("name"), OpenApi.map(each)));
    }
    assertThat(parameters.keySet())
        .contains("join.order", "join.x", "join.y", "split.sizes", "split.x", "split.y");
    var sizes = OpenApi.map(parameters.get("split.sizes"));
    assertThat(sizes.get("explode")).isEqualTo(false);
    var x = OpenApi.map(parameters.get("join.x"));
    assertThat(x.get("explode")).isEqualTo(true);
    assertThat(served.violations(x.get("schema"), Map.of("x0", "t_1", "x3", "t_1"), "x")).isEmpty();
    assertThat(served.violations(x.get("schema"), Map.of("x4", "t_1"), "x")).hasSize(1);
  }
}
