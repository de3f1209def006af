package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.endsWith;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.startsWith;

import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.StringStringEntryProto;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.model.SmallModels;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.hamcrest.Matcher;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests versions, folders and ranges of stored models. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator:0",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class StoredModelVersionsTest {

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
    assertThat(scopes()).isEmpty();
  }

  /** Returns the scopes of the weights that are resident. */
  private Iterable<String> scopes() {
    return given()
        .queryParam("limit", 1000)
        .get("/tensors")
        .jsonPath()
        .getList("tensors.scope.findAll { it?.startsWith('model ') }");
  }

  private Response put(String query, GraphProto.Builder graph) {
    return given()
        .contentType("application/onnx")
        .body(SmallModels.model(graph))
        .put("/models/" + query);
  }

  private Response put(String query, float weight) {
    return put(query, SmallModels.adding(weight));
  }

  private Response setDefault(String name, String body) {
    return given().contentType("application/json").body(body).put("/models/" + name + "/default");
  }

  private Response run(String name, int rows) {
    return given()
        .contentType("application/json")
        .body(StoredModelsTest.call(rows, ""))
        .post("/models/" + name + "/run");
  }

  /** The fourth element of the input is 0, so the output has the weight there. */
  private void assertWeight(String name, float weight) {
    run(name, 1).then().statusCode(200).body("outputs.y.data[3]", equalTo(weight));
  }

  private static void problem(Response response, int status, String code, Matcher<String> message) {
    response
        .then()
        .statusCode(status)
        .body("type", equalTo("urn:athanor:problem:" + code))
        .body("detail", message);
  }

  @Test
  void keepsTheNewestVersionsAndGoesBackToAnEarlierOne() {
    put("adder", 1).then().statusCode(201).body("version", equalTo(1)).body("bytes", equalTo(48));
    put("adder", 2).then().statusCode(201).body("version", equalTo(2));
    given()
        .get("/models/adder")
        .then()
        .body("version", equalTo(2))
        .body("versions", contains(1, 2));
    given().get("/models/adder@1").then().body("version", equalTo(1));
    assertWeight("adder", 2);
    assertWeight("adder@1", 1);

    setDefault("adder", "{\"version\": 1}").then().statusCode(200).body("version", equalTo(1));
    assertWeight("adder", 1);
    given().get("/models").then().body("models.version", contains(1));

    put("adder", 3).then().statusCode(201).body("versions", contains(2, 3));
    assertWeight("adder", 3);
    assertThat(scopes())
        .containsExactlyInAnyOrder("model adder, version 2", "model adder, version 3");
    problem(
        run("adder@1", 1),
        404,
        "not-found",
        equalTo("The model \"adder\" has no version 1; its versions are [2, 3]."));
  }

  @Test
  void deletesOneVersion() {
    put("adder", 1).then().statusCode(201);
    put("adder", 2).then().statusCode(201);
    given().delete("/models/adder?version=2").then().statusCode(204);
    assertWeight("adder", 1);
    assertThat(scopes()).containsExactly("model adder, version 1");
    given().delete("/models/adder@1").then().statusCode(204);
    problem(
        given().get("/models/adder"),
        404,
        "not-found",
        equalTo("There is no model \"adder\". GET /models lists all models."));
  }

  @Test
  void aFailedPutChangesNothing() {
    put("adder", 1).then().statusCode(201);
    put("adder", SmallModels.adding(1).clearInitializer()).then().statusCode(400);
    put("adder?extents=rows:1-2,columns:1-2", 2).then().statusCode(400);
    given().get("/models/adder").then().body("versions", contains(1));
    assertWeight("adder", 1);
    assertThat(scopes()).containsExactly("model adder, version 1");
    put("adder", 2).then().statusCode(201).body("versions", contains(1, 2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "adder | {\"version\": 3} | 404 | not-found | The model \"adder\" has no version 3; its versions are [1].",
        "sub | {\"version\": 1} | 404 | not-found | There is no model \"sub\". GET /models lists all models.",
        "adder | {} | 400 | invalid-attribute | version is missing; it must be a version of the model",
        "adder | {\"name\": 1} | 400 | unknown-field | name is unknown; known keys are version",
      })
  void refusesOtherDefaults(String name, String body, int status, String code, String message) {
    put("adder", 1).then().statusCode(201);
    problem(setDefault(name, body), status, code, equalTo(message));
  }

  @Test
  void refusesShapesOutsideTheRangesOfAModel() {
    put("adder?extents=rows:2-4", 1)
        .then()
        .statusCode(201)
        .body("extents.rows.min", equalTo(2))
        .body("extents.rows.max", equalTo(4));
    run("adder", 4).then().statusCode(200);
    problem(
        run("adder", 5),
        400,
        "shape-mismatch",
        equalTo("input \"x\" is f32[5, 12]; the model is stored for rows of 2-4"));
  }

  /** The largest input of this model has no fitting weight. */
  @Test
  void refusesRangesThatTheModelDoesNotSupport() {
    var graph = SmallModels.adding(1);
    graph.setInput(0, SmallModels.matrix("x", "rows", "columns"));
    problem(
        put("adder?extents=rows:1-2,columns:12-13", graph),
        400,
        "invalid-attribute",
        startsWith("with the inputs {x=f32[2, 13]}: node \"sum\" of Add: "));
  }

  @ParameterizedTest
  @ValueSource(longs = {1L << 40, 999_999_999_999_999_999L})
  void refusesRangesWhoseInputsNoCallCanSend(long most) {
    problem(
        put("adder?extents=rows:1-" + most, 1),
        413,
        "too-large",
        endsWith(": an input has more than 268435456 bytes, which is the limit"));
  }

  private static byte[] zip(Map<String, byte[]> files) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      for (var file : files.entrySet()) {
        zip.putNextEntry(new ZipEntry(file.getKey()));
        zip.write(file.getValue());
      }
    }
    return bytes.toByteArray();
  }

  private Response putZip(Map<String, byte[]> files) throws IOException {
    return given().contentType("application/zip").body(zip(files)).put("/models/adder");
  }

  /** Returns the folder of a model with its weight in another file. */
  private static Map<String, byte[]> folder(float weight) {
    var external =
        TensorProto.newBuilder()
            .setName("w")
            .setDataType(1)
            .addDims(SmallModels.WIDTH)
            .setDataLocation(TensorProto.DataLocation.EXTERNAL)
            .addExternalData(
                StringStringEntryProto.newBuilder().setKey("location").setValue("weights/w"));
    var graph = SmallModels.adding(0).setInitializer(0, external);
    var data = ByteBuffer.allocate(4 * SmallModels.WIDTH).order(ByteOrder.LITTLE_ENDIAN);
    while (data.hasRemaining()) {
      data.putFloat(weight);
    }
    return new TreeMap<>(Map.of("any.onnx", SmallModels.model(graph), "weights/w", data.array()));
  }

  @Test
  void storesAFolderWithWeightsOutsideTheOnnxFile() throws IOException {
    putZip(folder(7)).then().statusCode(201).body("bytes", equalTo(48));
    assertWeight("adder", 7);
  }

  @Test
  void refusesFoldersThatAreNoModel() throws IOException {
    var files = folder(7);
    files.remove("weights/w");
    problem(
        putZip(files),
        400,
        "malformed-body",
        equalTo(
            "tensor \"w\" is stored in the file \"weights/w\", which the model's folder does not have; store the folder as a zip"));
    problem(
        putZip(Map.of("bert/model.onnx", new byte[1])),
        400,
        "malformed-body",
        equalTo(
            "the files are not a model; there must be model.onnx, one other ONNX file, graph.json, or config.json at the top, got: bert/model.onnx"));
    problem(
        given().contentType("application/zip").body(new byte[1]).put("/models/adder"),
        400,
        "malformed-body",
        equalTo("the body is not a zip with files"));
  }
}
