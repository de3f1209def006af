package dev.athanor.service.rest;

import static dev.athanor.service.model.SmallModels.WIDTH;
import static dev.athanor.service.model.SmallModels.adding;
import static dev.athanor.service.model.SmallModels.matrix;
import static dev.athanor.service.model.SmallModels.model;
import static dev.athanor.service.model.SmallModels.node;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.empty;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.AthanorApplication;
import dev.athanor.service.model.StoredModel;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests models that clients store. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator:0",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class StoredModelsTest {

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
    assertThat(weights()).isEmpty();
  }

  /** Returns the handles of the weights; other tests may leave tensors in the same service. */
  private List<String> weights() {
    return given()
        .queryParam("limit", 1000)
        .get("/tensors")
        .jsonPath()
        .getList("tensors.findAll { it.scope?.startsWith('model ') }.handle");
  }

  private Response put(String name, byte[] file) {
    return given().contentType("application/onnx").body(file).put("/models/" + name);
  }

  private Response run(String name, int rows, String outputs) {
    return given()
        .contentType("application/json")
        .body(call(rows, outputs))
        .post("/models/" + name + "/run");
  }

  /** Returns a call with x = -3, -2, -1, … */
  static String call(int rows, String outputs) {
    var data = IntStream.range(0, rows * WIDTH).mapToObj(i -> Integer.toString(i - 3)).toList();
    return "{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [%d, %d], \"data\": %s}}, \"outputs\": {%s}}"
        .formatted(rows, WIDTH, data, outputs);
  }

  private void problem(Response response, int status, String code, String message) {
    response
        .then()
        .statusCode(status)
        .body("type", equalTo("urn:athanor:problem:" + code))
        .body("detail", equalTo(message));
  }

  @Test
  void storesListsRunsReplacesAndDeletesAModel() {
    put("adder", model(adding(1)))
        .then()
        .statusCode(201)
        .header("Location", "/models/adder")
        .body("inputs[0].name", equalTo("x"))
        .body("inputs[0].shape", contains("rows", Integer.toString(WIDTH)))
        .body("outputs", contains("y", "t"));
    for (int rows : new int[] {1, 3, 1}) {
      run("adder", rows, "")
          .then()
          .statusCode(200)
          .body("outputs.y.shape", contains(rows, WIDTH))
          .body("outputs.y.data[3]", equalTo(1f))
          .body("outputs.y.data[0]", equalTo(0f))
          .body("outputs.t.shape", contains(WIDTH, rows));
    }
    given().get("/models/adder").then().statusCode(200).body("version", equalTo(1));
    put("adder", model(adding(5))).then().statusCode(201);
    given().get("/models").then().body("models.version", contains(2));
    run("adder", 1, "\"t\": {\"encoding\": \"base64\"}")
        .then()
        .statusCode(200)
        .body("outputs.size()", equalTo(1));
    run("adder", 1, "\"y\": {}").then().body("outputs.y.data[0]", equalTo(2f));
    given().delete("/models/adder").then().statusCode(204);
    problem(
        run("adder", 1, ""),
        404,
        "not-found",
        "There is no model \"adder\". GET /models lists all models.");
  }

  @Test
  void keepsOutputsResident() {
    put("adder", model(adding(1))).then().statusCode(201);
    String handle =
        run("adder", 2, "\"y\": {\"as\": \"handle\"}").then().extract().path("outputs.y.handle");
    given()
        .contentType("application/json")
        .body("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}}".formatted(handle))
        .post("/models/adder/run")
        .then()
        .statusCode(200)
        .body("outputs.y.data[4]", equalTo(3f));
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  @Test
  void errorsNameTheModelsOutputs() {
    put("adder", model(adding(1))).then().statusCode(201);
    String handle =
        run("adder", 2, "\"y\": {\"as\": \"handle\"}").then().extract().path("outputs.y.handle");
    problem(
        run("adder", 1, "\"t\": {\"into\": \"%s\"}".formatted(handle)),
        400,
        "shape-mismatch",
        "outputs.t.into has type f32[2, 12], but output \"t\" has type f32[12, 1]; they must be equal");
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  /** Weights that someone deleted, or that were lost with a device, are loaded again. */
  @Test
  void loadsItsWeightsAgain() {
    put("adder", model(adding(1))).then().statusCode(201);
    run("adder", 1, "").then().statusCode(200);
    var handles = weights();
    assertThat(handles).hasSize(1);
    handles.forEach(handle -> given().delete("/tensors/" + handle).then().statusCode(204));
    run("adder", 1, "").then().statusCode(200).body("outputs.y.data[3]", equalTo(1f));
  }

  /** Constants that depend on the shapes of inputs are freed with the graphs that read them. */
  @Test
  void freesTheConstantsOfShapesThatWereNotUsedLately() {
    var graph =
        adding(1)
            .addNode(node("Shape", "shape", "x"))
            .addNode(node("ConstantOfShape", "zeros", "shape"))
            .addNode(node("Add", "same", "y", "zeros"))
            .addNode(node("Identity", "again", "same"))
            .addOutput(matrix("same", "rows", WIDTH))
            .addOutput(matrix("again", "rows", WIDTH));
    put("shapes", model(graph)).then().statusCode(201);
    for (int rows = 1; rows <= StoredModel.MOST_GRAPHS + 10; rows++) {
      run("shapes", rows, "\"same\": {}, \"again\": {}")
          .then()
          .statusCode(200)
          .body("outputs.same.data[4]", equalTo(2f))
          .body("outputs.again.data[4]", equalTo(2f));
    }
    // the sum's weight, and one constant for each graph
    assertThat(weights()).hasSize(StoredModel.MOST_GRAPHS + 1);
  }

  @Test
  void namesEveryNodeThatIsNotSupported() {
    var graph =
        adding(1)
            .addNode(node("StringSplit", "a", "x"))
            .addNode(node("Fly", "b", "a").toBuilder().setDomain("com.example"));
    problem(
        put("bad", model(graph)),
        400,
        "invalid-attribute",
        "node \"a\" of StringSplit is not supported\nnode \"b\" of com.example.Fly is not supported");
    given().get("/models").then().body("models", empty());
  }

  @Test
  void refusesNamesOfOps() {
    problem(
        put("matmul", model(adding(1))),
        400,
        "invalid-attribute",
        "the name \"matmul\" is that of an op; choose another name");
    problem(
        put("stats", model(adding(1))),
        400,
        "invalid-attribute",
        "the name \"stats\" is reserved; choose another name");
  }

  @Test
  void refusesDamagedFilesAndInputsThatDoNotFit() {
    problem(
        put("bad", new byte[] {8, 7}),
        400,
        "malformed-body",
        "the file of 2 bytes is not an ONNX model: it has no graph with outputs");
    problem(
        put("bad", model(adding(1).addNode(node("Relu", "z", "nothing")))),
        400,
        "malformed-body",
        "node \"z\" of Relu reads \"nothing\", which no earlier node computes");
    problem(
        given().contentType("text/plain").body("{}").put("/models/bad"),
        415,
        "unsupported-media-type",
        "Content-Type is text/plain; it must be application/onnx, application/json for a graph, or application/zip for a folder");
    put("adder", model(adding(1))).then().statusCode(201);
    given()
        .contentType("application/json")
        .body("{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [1, 2], \"data\": [1, 2]}}}")
        .post("/models/adder/run")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:shape-mismatch"))
        .body(
            "detail",
            equalTo("input \"x\" is f32[1, 2]; the model requires x f32[rows, 12] with {rows=1}"));
    problem(
        run("adder", 1, "\"q\": {}"),
        400,
        "unknown-field",
        "the model has no output \"q\"; its outputs are: y, t");
  }
}
