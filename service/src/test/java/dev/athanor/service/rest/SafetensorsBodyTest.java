package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.matchesPattern;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import dev.athanor.service.codec.Safetensors;
import io.restassured.path.json.JsonPath;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Tests uploads, downloads and calls with safetensors. */
class SafetensorsBodyTest extends RestTest {

  private static final String TYPE = "application/x-safetensors";

  private static byte[] file(Map<String, HostTensor> tensors) {
    var types = new LinkedHashMap<String, TensorType>();
    tensors.forEach((name, tensor) -> types.put(name, tensor.type()));
    var bytes = new ByteArrayOutputStream();
    bytes.writeBytes(Safetensors.header(types, Map.of()).orElseThrow());
    types
        .keySet()
        .forEach(name ->
            bytes.writeBytes(
                Objects.requireNonNull(tensors.get(name)).data().toArray(ValueLayout.JAVA_BYTE)));
    return bytes.toByteArray();
  }

  private static HostTensor floats(double... values) {
    return HostTensor.of(TensorType.of(DType.F32, values.length), values);
  }

  private RequestSpecification file(String name, HostTensor tensor) {
    return given().contentType(TYPE).body(file(Map.of(name, tensor)));
  }

  private static Map<String, HostTensor> tensors(Response response) throws IOException {
    var bytes = response.then().statusCode(200).contentType(TYPE).extract().asByteArray();
    assertThat(response.header("Content-Length")).isEqualTo("" + bytes.length);
    return Safetensors.open(ByteSource.of(new ByteArrayInputStream(bytes)), 1 << 20, "answer")
        .read(HostAllocator.HEAP);
  }

  private static Map<String, String> metadata(Response response) {
    var bytes = response.asByteArray();
    int length = (int) ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
    return JsonPath.from(new String(bytes, 8, length, StandardCharsets.UTF_8))
        .getMap("__metadata__");
  }

  @Test
  void uploadsAndDownloadsATensor() throws IOException {
    var bf16 = HostTensor.of(TensorType.of(DType.BF16, 2, 1), 1.5, -3);
    var handle =
        file("any name", bf16)
            .post("/tensors")
            .then()
            .statusCode(201)
            .body("dtype", equalTo("bf16"))
            .body("shape", contains(2, 1))
            .extract()
            .<String>path("handle");
    var data = "/tensors/" + handle + "/data";
    var answer = given().accept(TYPE).get(data);
    answer.then().header("Vary", "Accept").header("ETag", "\"1-safetensors\"");
    var down = tensors(answer);
    assertThat(down.keySet()).containsExactly("tensor");
    assertThat(Objects.requireNonNull(down.get("tensor")).toDoubles()).containsExactly(1.5, -3);
    given()
        .accept(TYPE)
        .head(data)
        .then()
        .contentType(TYPE)
        .header("Content-Length", answer.header("Content-Length"));
    file("x", HostTensor.of(TensorType.of(DType.BF16, 2, 1), 4, 5))
        .header("If-Match", "\"1\"")
        .put(data)
        .then()
        .statusCode(200)
        .body("version", equalTo(2));
    given().accept("application/json").get(data).then().body("data", contains(4f, 5f));
  }

  @Test
  void rejectsUploadsWithoutExactlyOneTensor() {
    problem(
        given().contentType(TYPE).body(file(Map.of())).post("/tensors"),
        400,
        "invalid-tensor",
        "body",
        "the safetensors file has 0 tensors; it must have exactly one here");
    var two = new LinkedHashMap<String, HostTensor>();
    two.put("a", floats(1));
    two.put("b", floats(2));
    problem(
        given().contentType(TYPE).body(file(two)).post("/tensors"),
        400,
        "invalid-tensor",
        "body",
        "the safetensors file has 2 tensors; it must have exactly one here");
  }

  @Test
  void enforcesTheQuotaBeforeReadingData() {
    var header =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[33000000],\"data_offsets\":[0,33000000]}}"
            .getBytes(StandardCharsets.UTF_8);
    var start =
        ByteBuffer.allocate(8 + header.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(header.length)
            .put(header)
            .array();
    var held =
        given()
            .contentType("application/octet-stream")
            .queryParam("scope", "quota")
            .body(new byte[33_000_000])
            .post("/tensors?dtype=u8&shape=33000000")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    given()
        .contentType(TYPE)
        .body(start)
        .post("/tensors")
        .then()
        .statusCode(400); // 32 MiB are left
    tensor(1);
    given()
        .contentType("application/octet-stream")
        .body(new byte[4_000_000])
        .queryParam("scope", "quota")
        .post("/tensors?dtype=u8&shape=4000000")
        .then()
        .statusCode(201);
    // no data is sent, so the size in the header alone is rejected
    given()
        .contentType(TYPE)
        .body(start)
        .post("/tensors")
        .then()
        .statusCode(429)
        .body("type", equalTo("urn:athanor:problem:quota-exceeded"));
    given().queryParam("scope", "quota").delete("/tensors").then().statusCode(204);
    given().get("/tensors/" + held).then().statusCode(404);
  }

  @Test
  void rejectsBlocksAsSafetensors() {
    var handle =
        given()
            .contentType("application/octet-stream")
            .body(new byte[18])
            .post("/tensors?dtype=q4_0&shape=32")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    problem(
        given().accept(TYPE).get("/tensors/" + handle + "/data"),
        406,
        "not-acceptable",
        "Accept",
        "q4_0 has no safetensors type; application/octet-stream has it");
    var before = given().get("/tensors").then().extract().<List<?>>path("tensors").size();
    // rejected before any output is kept
    problem(
        json("{\"inputs\": {\"a\": {\"handle\": \"%s\"}}, \"outputs\": {\"c\": {\"as\": \"handle\"}}}"
                .formatted(handle))
            .accept(TYPE)
            .post("/ops/concat"),
        406,
        "not-acceptable",
        "outputs.zeros",
        "output \"zeros\" is q4_0, which the response format cannot encode; accept another format or keep the output as a handle");
    given().get("/tensors").then().body("tensors.size()", equalTo(before));
  }

  @Test
  void runsAnOpOnAFileAndReturnsOne() throws IOException {
    var inputs = new LinkedHashMap<String, HostTensor>();
    inputs.put("b", floats(3));
    inputs.put("a", floats(1, 2));
    var answer = given().contentType(TYPE).body(file(inputs)).post("/ops/concat");
    answer
        .then()
        .header("Server-Timing", matchesPattern("prepare;dur=.*, queue;dur=.*, total;dur=[0-9.]+"))
        .header("Vary", "Accept");
    var outputs = tensors(answer);
    assertThat(outputs.keySet()).containsExactly("c", "zeros");
    assertThat(Objects.requireNonNull(outputs.get("c")).toDoubles()).containsExactly(1, 2, 3);
    assertThat(metadata(answer))
        .isEqualTo(Map.of("op", "concat", "device", "fake:0", "kernel", "concat"));
  }

  @Test
  void acceptsHandlesAttributesAndOutputsInTheQuery() throws IOException {
    var b = tensor(5);
    var kept =
        file("a", floats(1))
            .accept("application/json")
            .queryParam("b", b)
            .queryParam("c", "handle")
            .queryParam("zeros", "inline")
            .post("/ops/concat")
            .then()
            .statusCode(200)
            .header("Server-Timing", matchesPattern(".*total;dur=[0-9.]+"))
            .body("outputs.zeros.data", contains(0f))
            .extract()
            .<String>path("outputs.c.handle");
    var answer = file("a", floats(7)).queryParam("b", b).queryParam("c", kept).post("/ops/concat");
    assertThat(tensors(answer).keySet()).containsExactly("zeros");
    assertThat(metadata(answer)).containsEntry("handle.c", kept);
    given()
        .accept("application/json")
        .get("/tensors/" + kept + "/data")
        .then()
        .body("data", contains(7f, 5f));
    var none = given().contentType(TYPE).body(file(Map.of())).queryParam("x", b);
    assertThat(
            tensors(none.queryParam("mode", "a").queryParam("factor", "2.5").post("/ops/identity")))
        .containsOnlyKeys("y");
  }

  @Test
  void returnsAFileForAJsonRequest() throws IOException {
    var answer =
        json("{\"inputs\": {\"x\": {\"dtype\": \"f64\", \"shape\": [1], \"data\": [0.1]}}}")
            .accept(TYPE)
            .post("/ops/identity");
    assertThat(Objects.requireNonNull(tensors(answer).get("y")).toDoubles()).containsExactly(0.1);
  }

  @Test
  void reportsInvalidRequests() {
    var x = floats(1);
    problem(
        file("z", x).post("/ops/identity"),
        400,
        "unknown-field",
        "inputs.z",
        "inputs.z is unknown; known keys are x");
    problem(
        file("x", x).queryParam("z", "1").post("/ops/identity"),
        400,
        "unknown-field",
        "z",
        "Unknown query parameter \"z\"; known parameters are x, gate, factor, mode, y");
    problem(
        file("x", x).queryParam("x", tensor(1)).post("/ops/identity"),
        400,
        "invalid-tensor",
        "inputs.x",
        "inputs.x is given in the body and as the query parameter x; give only one");
    problem(
        file("x", x).queryParam("y", "kept").post("/ops/identity"),
        400,
        "invalid-attribute",
        "outputs.y",
        "y is \"kept\"; it must be inline, handle, or the handle t_… of a tensor to overwrite");
    problem(
        file("x", x).queryParam("gate", "maybe").post("/ops/identity"),
        400,
        "invalid-attribute",
        "attributes.gate",
        "attribute \"gate\" must be true or false, got \"maybe\"");
    problem(
        json("{}").queryParam("gate", "true").post("/ops/identity"),
        400,
        "unknown-field",
        "gate",
        "Unknown query parameter \"gate\"; this path has none");
    problem(
        given().contentType(TYPE).body(new byte[3]).post("/ops/identity"),
        400,
        "invalid-tensor",
        "body",
        "not a safetensors file: it has fewer than 8 bytes");
  }
}
