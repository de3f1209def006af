package dev.athanor.service.rest;

import static dev.athanor.service.rest.RestTest.problem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.AthanorApplication;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests models that clients write as steps. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator:0",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class StoredGraphsTest {

  private static final String X = "{'dtype': 'f32', 'shape': [2, 3], 'data': [1, 2, 3, 4, 5, 6]}";
  private static final String W =
      "{'dtype': 'f32', 'shape': [3, 2], 'data': [1, -1, 2, 0.5, 3, 7]}";

  /** The product with w, and its softmax. */
  private static final String STEPS =
      """
      [{'op': 'matmul', 'inputs': {'a': 'x', 'b': 'w'}, 'outputs': {'c': 'product'}},
       {'op': 'softmax', 'inputs': {'x': 'product'}, 'outputs': {'y': 'shares'}}]\
      """;

  @LocalServerPort int port;

  private RequestSpecification given() {
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  @AfterEach
  void deleteAll() {
    given()
        .get("/models")
        .jsonPath()
        .getList("models.name", String.class)
        .forEach(name -> given().delete("/models/" + name).then().statusCode(204));
    given()
        .get("/tensors")
        .jsonPath()
        .getList("tensors.handle", String.class)
        .forEach(handle -> given().delete("/tensors/" + handle).then().statusCode(204));
  }

  private RequestSpecification json(String body) {
    return given().contentType("application/json").body(body.replace('\'', '"'));
  }

  private Response put(String query, String graph) {
    return json(graph).put("/models/" + query);
  }

  private Response run(String inputs) {
    return json("{'inputs': {%s}}".formatted(inputs)).post("/models/graph/run");
  }

  private String upload(String tensor) {
    return json(tensor).post("/tensors").then().statusCode(201).extract().path("handle");
  }

  /** Returns a graph of an input x of some rows. */
  private static String graph(String weights, String steps, String outputs) {
    return "{'inputs': {'x': {'dtype': 'f32', 'shape': ['rows', 3]}}, 'weights': {%s}, 'steps': %s, 'outputs': {%s}}"
        .formatted(weights, steps, outputs);
  }

  private static String dense(String weight) {
    return graph("'w': '%s'".formatted(weight), STEPS, "'y': 'shares', 'z': 'product'");
  }

  @Test
  void returnsWhatThePipelineOfTheStepsReturns() {
    var handle = upload(W);
    put("graph", dense(handle))
        .then()
        .statusCode(201)
        .body("inputs.shape", contains(List.of("rows", "3")))
        .body("outputs", contains("y", "z"))
        .body("bytes", equalTo(0));
    var pipeline =
        "{'inputs': {'x': %s, 'w': {'handle': '%s'}}, 'steps': %s, 'outputs': {'shares': {}, 'product': {}}}"
            .formatted(X, handle, STEPS);
    var expected = json(pipeline).post("/pipelines/run").then().statusCode(200).extract();
    run("'x': " + X)
        .then()
        .statusCode(200)
        .body("outputs.y", equalTo(expected.path("outputs.shares")))
        .body("outputs.z", equalTo(expected.path("outputs.product")));
  }

  @Test
  void callsFindStoredTensorsByName() {
    json(W).put("/tensors/layer.w").then().statusCode(201);
    put("graph", dense("layer.w")).then().statusCode(201);
    run("'x': " + X).then().body("outputs.z.data", equalTo(List.of(14f, 21f, 32f, 40.5f)));
    json(W.replace("[1,", "[2,")).put("/tensors/layer.w").then().statusCode(200);
    run("'x': " + X).then().body("outputs.z.data", equalTo(List.of(15f, 21f, 36f, 40.5f)));
    given().delete("/tensors/layer.w").then().statusCode(204);
    problem(
        run("'x': " + X),
        404,
        "unknown-handle",
        "weights.w",
        "no tensor is stored under the name layer.w; PUT /tensors/layer.w stores one, and handles look like t_…");
  }

  @Test
  void callsNeedTheTensorsOfTheirHandles() {
    var handle = upload(W);
    put("graph", dense(handle)).then().statusCode(201);
    given().delete("/tensors/" + handle).then().statusCode(204);
    var message = run("'x': " + X).then().statusCode(404).extract().<String>path("detail");
    assertThat(message).contains(handle);
    problem(put("other", dense(handle)), 404, "unknown-handle", "weights.w", message);
    assertThat(given().get("/models").jsonPath().getList("models.name")).containsExactly("graph");
  }

  @Test
  void refusesWeightsAsInputs() {
    put("graph", dense(upload(W))).then().statusCode(201);
    problem(
        run("'x': %s, 'w': %s".formatted(X, W)),
        400,
        "unknown-field",
        "inputs.w",
        "inputs.w is a weight of the model; remove it");
  }

  private static byte[] safetensors(String name, TensorType type, double... values) {
    var header =
        "{\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[0,%d]}}"
            .formatted(name, type.shape().extents(), type.bytes())
            .getBytes(StandardCharsets.UTF_8);
    var data = HostTensor.of(type, values).data().asByteBuffer();
    return ByteBuffer.allocate(8 + header.length + data.remaining())
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(header.length)
        .put(header)
        .put(data)
        .array();
  }

  /** Returns a GGUF file with one vector of zeros. */
  private static byte[] gguf(String name, int elements) {
    int header = 24 + 8 + name.length() + 4 + 8 + 4 + 8;
    int start = (header + 31) / 32 * 32;
    return ByteBuffer.allocate(start + 4 * elements)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put("GGUF".getBytes(StandardCharsets.UTF_8))
        .putInt(3)
        .putLong(1)
        .putLong(0)
        .putLong(name.length())
        .put(name.getBytes(StandardCharsets.UTF_8))
        .putInt(1)
        .putLong(elements)
        .putInt(0)
        .putLong(0)
        .array();
  }

  private Response putZip(String graph, Map<String, byte[]> others) throws IOException {
    var files = new LinkedHashMap<>(others);
    files.put("graph.json", graph.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      for (var file : files.entrySet()) {
        zip.putNextEntry(new ZipEntry(file.getKey()));
        zip.write(file.getValue());
      }
    }
    return given().contentType("application/zip").body(bytes.toByteArray()).put("/models/graph");
  }

  @Test
  void readsTensorsOfTheZip() throws IOException {
    var files =
        Map.of(
            "a.safetensors",
            safetensors("layer.w", TensorType.of(DType.F32, 3, 2), 1, -1, 2, 0.5, 3, 7),
            "b.gguf",
            gguf("unread", 100));
    putZip(dense("layer.w"), files).then().statusCode(201).body("bytes", equalTo(24));
    run("'x': " + X).then().body("outputs.z.data", equalTo(List.of(14f, 21f, 32f, 40.5f)));
    putZip(graph("", STEPS.replace("'w'", "'layer.w'"), "'z': 'product'"), files)
        .then()
        .statusCode(201);
    run("'x': " + X).then().body("outputs.z.data", equalTo(List.of(14f, 21f, 32f, 40.5f)));
    var zeros = graph("", "[" + map("'x', 'x1': 'zeros'", "x0 + x1 * 2") + "]", "'m': 'm'");
    putZip(zeros, Map.of("b.gguf", gguf("zeros", 3))).then().statusCode(201);
    run("'x': " + X).then().body("outputs.m.data", equalTo(List.of(1f, 2f, 3f, 4f, 5f, 6f)));
  }

  @Test
  void stepsReadOtherShapesWithAnInferredExtent() {
    put(
            "graph",
            graph(
                "",
                "[{'op': 'transpose', 'inputs': {'x': {'ref': 'x', 'shape': [-1, 2]}}, 'outputs': {'y': 't'}}]",
                "'t': 't'"))
        .then()
        .statusCode(201);
    run("'x': " + X)
        .then()
        .body("outputs.t.shape", contains(2, 3))
        .body("outputs.t.data", equalTo(List.of(1f, 3f, 5f, 2f, 4f, 6f)));
    problem(
        run("'x': {'dtype': 'f32', 'shape': [1, 3], 'data': [1, 2, 3]}"),
        400,
        "shape-mismatch",
        "steps[0].inputs.x.shape",
        "steps[0].inputs.x.shape does not suit the tensor: [1, 3] cannot be reshaped to [-1, 2]");
  }

  private static String map(String input, String expression) {
    return "{'op': 'map', 'inputs': {'x0': %s}, 'attributes': {'expression': '%s'}, 'outputs': {'y': 'm'}}"
        .formatted(input, expression);
  }

  /** A member of a graph that is wrong, and the problem. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "steps[0].inputs.x0 | malformed-body | 'm': 'm' | 'z' | x | steps[0].inputs.x0 is \"z\", which is neither an input, a state or a weight, nor an output of an earlier step",
        "inputs.x | malformed-body | 'm': 'm' | 'w' | x | inputs.x is not read by any step; remove it",
        "outputs.q | malformed-body | 'q': 'n' | 'x' | x + w | outputs.q is \"n\", which is not an output of any step; step outputs are: m",
        "outputs | malformed-body | `` | 'x' | x | outputs is empty; name at least one output of a step",
        "steps[0].inputs.x0.offset | invalid-attribute | 'm': 'm' | {'ref': 'x', 'offset': 1} | x | steps[0].inputs.x0.offset is not supported in stored graphs; use the op slice or permute instead",
        "steps[0].inputs.x0.strides | invalid-attribute | 'm': 'm' | {'ref': 'x', 'strides': [1, 1]} | x | steps[0].inputs.x0.strides is not supported in stored graphs; use the op slice or permute instead",
        "steps[0].inputs.x0.shape | invalid-attribute | 'm': 'm' | {'ref': 'x', 'shape': [-1, -1]} | x | steps[0].inputs.x0.shape is [-1, -1]; every extent must be at least 0, except for one of -1, which is inferred",
      })
  void namesTheMemberThatIsWrong(
      String field, String code, String outputs, String input, String expression, String message) {
    var handle = upload(W);
    var weights = input.equals("'w'") ? "'w': '%s'".formatted(handle) : "";
    problem(
        put("graph", graph(weights, "[" + map(input, expression) + "]", outputs)),
        400,
        code,
        field,
        message);
    assertThat(given().get("/models").jsonPath().getList("models")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'steps': []} | inputs | invalid-attribute | inputs is missing; a graph has at least one",
        "{'inputs': {'x': {'dtype': 'f32', 'shape': [2]}}} | steps | invalid-attribute | steps is missing; a graph has at least one",
        "{'inputs': {'x': {'dtype': 'f32'}}} | inputs.x.shape | invalid-attribute | inputs.x.shape is missing",
        "{'inputs': {'x': {'dtype': 'f32', 'shape': ['a:b']}}} | inputs.x.shape[0] | invalid-attribute | inputs.x.shape[0] is \"a:b\"; an extent is a number, or a name of 1 to 64 letters, digits, periods, hyphens and underscores that begins with a letter or an underscore",
        "{'inputs': {'x': {'dtype': 'f32', 'shape': 2}}} | inputs.x.shape | invalid-attribute | inputs.x.shape must be a list of extents, got a number",
        "{'inputs': {'x': {'dtype': 'f32', 'rank': 2}}} | inputs.x.rank | unknown-field | inputs.x.rank is unknown; known keys are dtype, shape",
        "{'weights': {'w': 'a b'}} | weights.w | invalid-attribute | weights.w is \"a b\", which is neither a tensor of the zip, nor the handle or name of a stored tensor",
        "{'state': {'h': {'dtype': 'f32', 'shape': ['n'], 'next': 'y'}}} | state.h.shape | invalid-attribute | state.h.shape has \"n\"; the extents of a state are numbers",
        "{'inputs': {'': {}}} | inputs | invalid-attribute | inputs has the name \"\"; a name must have 1 to 128 printable characters and must not look like a handle",
        "{'nodes': []} | nodes | unknown-field | nodes is unknown; known keys are inputs, weights, steps, outputs, state",
      })
  void readsGraphsStrictly(String graph, String field, String code, String message) {
    problem(put("graph", graph), 400, code, field, message);
  }

  /** Steps have the problems of pipelines. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'op': 'nop'} | 404 | unknown-op | op",
        "{'op': 'softmax', 'inputs': {'x': 'x', 'z': 'x'}} | 400 | unknown-field | inputs.z",
        "{'op': 'softmax', 'outputs': {'y': 's'}} | 400 | missing-input | inputs.x",
        "{'op': 'transpose', 'inputs': {'x': 'x'}, 'attributes': {'b': 1}} | 400 | unknown-field | attributes.b",
        "{'op': 'map', 'inputs': {'x0': 'x'}, 'attributes': {'expression': 1}} | 400 | invalid-attribute | attributes.expression",
        "{'op': 'softmax', 'inputs': {'x': 'x'}, 'outputs': {'z': 's'}} | 400 | unknown-field | outputs.z",
      })
  void namesTheStepThatIsWrong(String step, int status, String code, String field) {
    put("graph", graph("", "[" + step + "]", "'s': 's'"))
        .then()
        .statusCode(status)
        .body("type", equalTo("urn:athanor:problem:" + code))
        .body("field", equalTo("steps[0]." + field));
  }

  @Test
  void plansTheDeclaredShapes() {
    var handle = upload(W);
    var graph = dense(handle).replace("'rows', 3", "2, 4");
    put("graph", graph)
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:shape-mismatch"))
        .body("step", equalTo(0));
    put("graph?extents=rows:1-4", dense(handle).replace("'rows', 3", "'rows', 'rows'"))
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:shape-mismatch"));
    put("graph?extents=rows:1-4", dense(handle)).then().statusCode(201);
    put("graph", dense(handle).replace("'rows'", "2")).then().statusCode(201);
  }

  private static String counter(String state) {
    return "{'inputs': {'x': {'dtype': 'f32', 'shape': [1, 2]}}, 'steps': [{'op': 'map', 'inputs': {'x0': 'x', 'x1': 'h'}, 'attributes': {'expression': 'x0 + x1'}, 'outputs': {'y': 'sum'}}], 'outputs': {'y': 'sum'}, 'state': {'h': {'dtype': 'f32', 'shape': %s, 'next': 'sum'}}}"
        .formatted(state);
  }

  @Test
  void sessionsKeepTheState() {
    put("graph", counter("[1, 2]")).then().statusCode(201).body("outputs", contains("y"));
    var session =
        given()
            .post("/models/graph/sessions")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("session");
    var x = "{'dtype': 'f32', 'shape': [1, 2], 'data': [1, 10]}";
    for (int i = 1; i <= 3; i++) {
      json("{'session': '%s', 'inputs': {'x': %s}}".formatted(session, x))
          .post("/models/graph/run")
          .then()
          .statusCode(200)
          .body("outputs.y.data", equalTo(List.of((float) i, 10f * i)));
    }
    run("'x': " + x).then().body("outputs.y.data", equalTo(List.of(1f, 10f)));
  }

  @Test
  void theNextStateHasTheTypeOfTheState() {
    problem(
        put("graph", counter("[2]")),
        400,
        "shape-mismatch",
        "state.h.next",
        "with the inputs {x=f32[1, 2]}: state.h.next is f32[1, 2], but the state is f32[2]; both must have the same type");
  }

  @Test
  void inputsMayHaveTheNamesThatStepsHaveInside() {
    var named = graph("", "[" + map("'map:0'", "x0 * 2") + "]", "'m': 'm'");
    put("graph", named.replace("'x':", "'map:0':")).then().statusCode(201);
    run("'map:0': " + X).then().body("outputs.m.data[5]", equalTo(12f));
  }

  /** Sends calls at once, of which each has the bits of a call of a model without batches. */
  @Test
  void callsThatShareRunsHaveTheBitsOfOthers() {
    var graph = dense(upload(W));
    put("alone", graph).then().statusCode(201).body("batch", nullValue());
    put("graph?extents=rows:1-8&batch=rows", graph)
        .then()
        .statusCode(201)
        .body("batch", equalTo("rows"));
    var bodies = new ArrayList<String>();
    for (int rows = 1; rows <= 3; rows++) {
      var data = new ArrayList<Double>();
      for (int i = 0; i < 3 * rows; i++) {
        data.add(Math.sin(rows + i));
      }
      bodies.add(
          "{'inputs': {'x': {'dtype': 'f32', 'shape': [%d, 3], 'data': %s}}, 'outputs': {'y': {'encoding': 'base64'}, 'z': {}}}"
              .formatted(rows, data));
    }
    var expected =
        bodies.stream()
            .map(body ->
                json(body)
                    .header("X-Row-Invariant", true)
                    .post("/models/alone/run")
                    .then()
                    .statusCode(200)
                    .extract()
                    .<Map<String, ?>>path("outputs"))
            .toList();
    var answers = new ArrayList<CompletableFuture<Response>>();
    try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 24; i++) {
        var body = bodies.get(i % bodies.size());
        answers.add(
            CompletableFuture.supplyAsync(() -> json(body).post("/models/graph/run"), clients));
      }
    }
    for (int i = 0; i < answers.size(); i++) {
      var answer = answers.get(i).join().then().statusCode(200).extract();
      assertThat(answer.<Map<String, ?>>path("outputs")).isEqualTo(expected.get(i % bodies.size()));
    }
  }
}
