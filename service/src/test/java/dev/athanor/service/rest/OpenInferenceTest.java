package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.empty;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.everyItem;
import static org.hamcrest.Matchers.greaterThan;
import static org.hamcrest.Matchers.hasItems;
import static org.hamcrest.Matchers.hasKey;
import static org.hamcrest.Matchers.matchesPattern;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.nullValue;

import io.restassured.path.json.JsonPath;
import io.restassured.response.Response;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the Open Inference Protocol, with requests encoded as Triton's clients do. */
class OpenInferenceTest extends RestTest {

  private static final String HEADER = "Inference-Header-Content-Length";

  /** An input of a client that sends only JSON. */
  private static final String X =
      "{\"name\": \"x\", \"shape\": [2], \"datatype\": \"FP32\", \"data\": [1.5, -2]}";

  /** Posts a request as tritonclient does, without a media type. */
  private Response infer(String op, String json, byte[]... tensors) {
    return given()
        .noContentType()
        .header(HEADER, json.getBytes(UTF_8).length)
        .body(joined(json, tensors))
        .post("/v2/models/" + op + "/infer");
  }

  private Response inferJson(String op, String json) {
    return json(json).post("/v2/models/" + op + "/infer");
  }

  private record Binary(JsonPath json, ByteBuffer bytes) {
    static Binary of(Response response) {
      response.then().statusCode(200).contentType("application/octet-stream");
      int header = Integer.parseInt(response.header(HEADER));
      var body = response.asByteArray();
      assertThat(response.header("Content-Length")).isEqualTo(Integer.toString(body.length));
      return new Binary(
          JsonPath.from(new String(body, 0, header, UTF_8)),
          ByteBuffer.wrap(body, header, body.length - header));
    }
  }

  @Test
  void describesTheServer() {
    given()
        .get("/v2")
        .then()
        .statusCode(200)
        .body("name", equalTo("athanor"))
        .body("version", matchesPattern("\\d+\\.\\d+.*"))
        .body("extensions", hasItems("binary_tensor_data", "tensor_handle", "statistics"));
    given().get("/v2/health/live").then().statusCode(200).body("live", equalTo(true));
    given().get("/v2/health/ready").then().statusCode(200).body("ready", equalTo(true));
    given()
        .get("/v2/models")
        .then()
        .statusCode(200)
        .body("models", contains("concat", "identity", "join", "split"));
    given()
        .noContentType()
        .post("/v2/repository/index")
        .then()
        .statusCode(200)
        .body("name", contains("concat", "identity", "join", "split"))
        .body("state", everyItem(equalTo("READY")))
        .body("version", everyItem(equalTo("1")));
    json("{\"ready\": true}")
        .post("/v2/repository/index")
        .then()
        .statusCode(200)
        .body("size()", equalTo(4));
    problem(
        json("{\"ready\": 1}").post("/v2/repository/index"),
        400,
        "invalid-attribute",
        "ready",
        "ready must be true or false");
    problem(
        given().get("/v2?verbose=1"),
        400,
        "unknown-field",
        null,
        "this path has no query parameters, got \"verbose=1\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v2/models/concat", "/v2/models/concat/versions/1"})
  void describesModels(String path) {
    given()
        .get(path)
        .then()
        .statusCode(200)
        .body("name", equalTo("concat"))
        .body("versions", contains("1"))
        .body("platform", equalTo("athanor_ptx"))
        .body("inputs.name", contains("a", "b"))
        .body("inputs.datatype", contains("FP32", "FP32"))
        .body("inputs.shape", contains(contains(-1), contains(-1)))
        .body("outputs.name", contains("c", "zeros"))
        .body("properties.'inputs.b.optional'", equalTo("true"))
        .body("properties.formula", equalTo("c = a ++ b"));
    given().get(path + "/ready").then().statusCode(200).body("ready", equalTo(true));
    given()
        .get(path + "/config")
        .then()
        .statusCode(200)
        .body("max_batch_size", equalTo(0))
        .body("input.data_type", contains("TYPE_FP32", "TYPE_FP32"))
        .body("input.optional", contains(false, true))
        .body("output.dims", contains(contains(-1), contains(-1)))
        .body("model_transaction_policy.decoupled", equalTo(false));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/ready", "/config", "/stats"})
  void rejectsUnknownModelsAndVersions(String of) {
    problem(
        given().get("/v2/models/nope" + of),
        404,
        "unknown-op",
        null,
        "Unknown model \"nope\". GET /v2/models lists all models.");
    problem(
        given().get("/v2/models/concat/versions/2" + of),
        404,
        "unknown-op",
        null,
        "concat has no version \"2\"; its only version is 1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"..", "%2e%2e", "..%2fops", "a%00b", "%0d%0aSet-Cookie:%20a", "conc%D0%B0t"})
  void rejectsHostileNames(String name) {
    var answer = given().urlEncodingEnabled(false).get("/v2/models/" + name);
    assertThat(answer.statusCode()).isIn(400, 404);
    assertThat(answer.header("Set-Cookie")).isNull();
    assertThat(answer.jsonPath().getString("error")).doesNotContain("\r", "\n");
  }

  @Test
  void acceptsAndReturnsJson() {
    inferJson("identity", "{\"id\": \"42\", \"inputs\": [%s]}".formatted(X))
        .then()
        .statusCode(200)
        .contentType("application/json")
        .header("Server-Timing", matchesPattern("prepare;dur=.*, queue;dur=.*"))
        .header(HEADER, nullValue())
        .body("model_name", equalTo("identity"))
        .body("model_version", equalTo("1"))
        .body("id", equalTo("42"))
        .body("parameters.kernel", equalTo("identity_f32"))
        .body("parameters.queue_us", greaterThan(0f))
        .body("outputs.name", contains("y"))
        .body("outputs[0].datatype", equalTo("FP32"))
        .body("outputs[0].shape", contains(2))
        .body("outputs[0].data", contains(1.5f, -2f))
        // Triton's C++ client rejects parameters without binary_data_size
        .body("outputs[0]", not(hasKey("parameters")))
        .body("error", nullValue());
    json("""
    {"inputs": [{"data": [[1, 2], [3, 65504]], "name": "x", "datatype": "FP16", "shape": [2, 2]}],
     "outputs": [{"name": "y"}]}
    """)
        .post("/v2/models/identity/versions/1/infer")
        .then()
        .statusCode(200)
        .body("$", not(hasKey("id")))
        .body("outputs[0].datatype", equalTo("FP16"))
        .body("outputs[0].data", contains(1f, 2f, 3f, 65504f));
  }

  /** curl -d sends the media type of forms; the body must not be parsed as form parameters. */
  @Test
  void ignoresTheMediaTypeOfRequests() {
    given()
        .contentType("application/x-www-form-urlencoded")
        .body("{\"inputs\": [%s]}".formatted(X))
        .post("/v2/models/identity/infer")
        .then()
        .statusCode(200)
        .body("outputs[0].data", contains(1.5f, -2f));
  }

  /** The request names no outputs, so the client requests all of them as bytes. */
  @Test
  void exchangesBytesWithTritonclient() {
    var json =
        "{\"id\":\"7\",\"inputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"FP32\","
            + "\"parameters\":{\"binary_data_size\":8}},{\"name\":\"b\",\"shape\":[1],"
            + "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":4}}],"
            + "\"parameters\":{\"binary_data_output\":true}}";
    var answer = Binary.of(infer("concat", json, f32Bytes(1, 2), f32Bytes(3)));
    assertThat(answer.json.getString("id")).isEqualTo("7");
    assertThat(answer.json.getList("outputs.name")).containsExactly("c", "zeros");
    assertThat(answer.json.getList("outputs.parameters.binary_data_size")).containsExactly(12, 8);
    assertThat(answer.json.getList("outputs[0].shape")).containsExactly(3);
    assertThat(answer.bytes).isEqualTo(ByteBuffer.wrap(joined("", f32Bytes(1, 2, 3), new byte[8])));
  }

  /** Tests inputs and outputs in JSON and as bytes in one request. */
  @Test
  void mixesJsonAndBytes() {
    var json =
        "{\"inputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"FP32\",\"data\":[1,2]},"
            + "{\"name\":\"b\",\"shape\":[1],\"datatype\":\"FP32\","
            + "\"parameters\":{\"binary_data_size\":4}}],"
            + "\"outputs\":[{\"name\":\"zeros\",\"parameters\":{\"binary_data\":false}},"
            + "{\"name\":\"c\",\"parameters\":{\"binary_data\":true}}]}";
    var answer = Binary.of(infer("concat", json, f32Bytes(3)));
    assertThat(answer.json.getList("outputs.find { it.name == 'zeros' }.data"))
        .isEqualTo(java.util.List.of(0f, 0f));
    assertThat(answer.bytes).isEqualTo(ByteBuffer.wrap(f32Bytes(1, 2, 3)));
  }

  @Test
  void returnsOnlyRequestedOutputs() {
    inferJson(
            "concat",
            "{\"inputs\": [%s], \"outputs\": [{\"name\": \"c\"}]}"
                .formatted(X.replace("\"x\"", "\"a\"")))
        .then()
        .statusCode(200)
        .body("outputs.name", contains("c"));
  }

  @Test
  void acceptsARawBodyAsTheOnlyInput() {
    var answer =
        Binary.of(
            given()
                .contentType("application/octet-stream")
                .header(HEADER, 0)
                .body(f32Bytes(4, 5, 6))
                .post("/v2/models/identity/infer"));
    assertThat(answer.json.getList("outputs[0].shape")).containsExactly(3);
    assertThat(answer.bytes).isEqualTo(ByteBuffer.wrap(f32Bytes(4, 5, 6)));
    problem(
        infer("identity", "", new byte[6]),
        400,
        "invalid-tensor",
        "body",
        "the body has 6 bytes; input \"x\" of datatype FP32 requires a multiple of 4 bytes");
    problem(
        infer("identity", ""),
        400,
        "invalid-tensor",
        "body",
        "the body has 0 bytes; input \"x\" of datatype FP32 requires a multiple of 4 bytes");
    problem(
        infer("concat", "", f32Bytes(1)),
        400,
        "invalid-attribute",
        HEADER,
        HEADER
            + " is 0, which requires a model with one input that has exactly one variable dimension; concat"
            + " has 2 inputs");
  }

  /** Parameters select a part of a resident tensor. */
  @ParameterizedTest
  @ValueSource(strings = {"\"1\"", "[1]"})
  void readsPartsOfTensors(String strides) {
    var input =
        "{\"inputs\": [{\"name\": \"x\", \"shape\": [2], \"parameters\": {\"tensor_handle\": \"%s\", \"tensor_offset\": %s, \"tensor_strides\": %s}}]}";
    var x = tensor(1, 2, 3, 4, 5, 6);
    inferJson("identity", input.formatted(x, 4, strides))
        .then()
        .statusCode(200)
        .body("outputs[0].data", contains(5f, 6f));
    problem(
        inferJson("identity", input.formatted(x, 5, strides)),
        400,
        "shape-mismatch",
        "inputs.x",
        "inputs.x has shape [2], offset 5 and strides [1], but the tensor of shape [6] has only 6 elements");
    problem(
        inferJson("identity", input.formatted(x, -4, strides)),
        400,
        "invalid-attribute",
        "inputs.x.parameters.tensor_offset",
        "inputs.x.parameters.tensor_offset is -4; it must be an integer of at least 0");
    problem(
        inferJson("identity", input.formatted(x, 4, "\"one\"")),
        400,
        "invalid-attribute",
        "inputs.x.parameters.tensor_strides",
        "inputs.x.parameters.tensor_strides is \"one\"; it must be integers such as \"256,1\"");
  }

  @Test
  void acceptsAndReturnsHandles() {
    var x = tensor(1, 2);
    // an input with a handle has no binary data
    var json =
        ("{\"inputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"FP32\","
                + "\"parameters\":{\"tensor_handle\":\"%s\"}},{\"name\":\"b\",\"shape\":[1],"
                + "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":4}}],"
                + "\"outputs\":[{\"name\":\"c\",\"parameters\":{\"tensor_store\":true}}]}")
            .formatted(x);
    var stored = infer("concat", json, f32Bytes(3));
    stored
        .then()
        .statusCode(200)
        .contentType("application/json")
        .body("outputs[0].datatype", equalTo("FP32"))
        .body("outputs[0].shape", contains(3))
        .body("outputs[0].parameters.binary_data_size", equalTo(0))
        .body("outputs[0]", not(hasKey("data")));
    var kept = stored.<String>path("outputs[0].parameters.tensor_handle");
    var into =
        "{\"inputs\": [{\"name\": \"x\", \"parameters\": {\"tensor_handle\": \"%s\"}}],"
            + " \"outputs\": [{\"name\": \"y\", \"parameters\": {\"tensor_handle\": \"%s\"}}]}";
    inferJson("identity", into.formatted(kept, kept)).then().statusCode(409);
    inferJson(
            "identity",
            "{\"inputs\": [{\"name\": \"x\", \"shape\": [3, 1], \"datatype\": \"FP32\", \"parameters\": {\"tensor_handle\": \"%s\"}}]}"
                .formatted(kept))
        .then()
        .statusCode(200)
        .body("outputs[0].shape", contains(3, 1));
    var target = tensor(0, 0, 0);
    inferJson("identity", into.formatted(kept, target))
        .then()
        .statusCode(200)
        .body("outputs[0].parameters.tensor_handle", equalTo(target));
    assertThat(given().get("/tensors/" + target + "/data").asByteArray())
        .isEqualTo(f32Bytes(1, 2, 3));
    given().get("/tensors/" + target).then().body("version", equalTo(2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "shape": [3]           | shape-mismatch    | inputs.x.shape    | inputs.x.shape is [3], but the tensor has shape [2]; both must have the same number of elements
          "datatype": "FP16"     | unsupported-dtype | inputs.x.datatype | inputs.x.datatype is FP16, but the tensor has datatype FP32
          "data": [1, 2], "datatype": "FP32" | invalid-tensor | inputs.x | inputs.x has both a tensor_handle and data; give only one
          """)
  void rejectsWrongDescriptionsOfAHandle(
      String description, String code, String field, String detail) {
    var body =
        "{\"inputs\": [{\"name\": \"x\", \"parameters\": {\"tensor_handle\": \"%s\"}, %s}]}"
            .formatted(tensor(1, 2), description);
    problem(inferJson("identity", body), 400, code, field, detail);
  }

  @Test
  void rejectsUnknownHandles() {
    var body =
        "{\"inputs\": [{\"name\": \"x\", \"shape\": [1], \"parameters\": {\"tensor_handle\": \"t_00000000000000000000000000000000_test\"}}]}";
    inferJson("identity", body)
        .then()
        .statusCode(404)
        .body("type", equalTo("urn:athanor:problem:unknown-handle"));
  }

  @Test
  void transfersTypesWithoutNumbersAsBytes() {
    problem(
        inferJson(
            "identity",
            "{\"inputs\": [{\"name\": \"x\", \"shape\": [1], \"datatype\": \"BF16\", \"data\": [1]}]}"),
        400,
        "invalid-tensor",
        "inputs.x.data",
        "inputs.x.data: BF16 cannot be sent as numbers; send raw bytes, little-endian and row-major");
    var json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"%s\","
            + "\"parameters\":{\"binary_data_size\":%d}}],\"outputs\":[{\"name\":\"y\","
            + "\"parameters\":{%s}}]}";
    var answer =
        Binary.of(
            infer(
                "identity",
                json.formatted("FP8_E4M3", 2, "\"binary_data\":true"),
                new byte[] {0x38, 0x40}));
    assertThat(answer.json.getString("outputs[0].datatype")).isEqualTo("FP8_E4M3");
    assertThat(answer.bytes).isEqualTo(ByteBuffer.wrap(new byte[] {0x38, 0x40}));
    var bf16 = new byte[] {(byte) 0x80, 0x3f, 0, 0x40};
    problem(
        infer("identity", json.formatted("BF16", 4, "\"binary_data\":false"), bf16),
        406,
        "not-acceptable",
        "outputs.y",
        "output \"y\" is bf16, which the response format cannot encode; accept another format or keep the output as a handle");
    assertThat(
            infer("identity", json.formatted("BF16", 4, "\"tensor_store\":true"), bf16)
                .<String>path("outputs[0].datatype"))
        .isEqualTo("BF16");
  }

  /** The other output must not be written either. */
  @Test
  void rejectsUnsupportedOutputFormatsBeforeRunning() {
    var kept =
        given()
            .contentType("application/octet-stream")
            .body(new byte[] {1, 2})
            .post("/tensors?dtype=bf16&shape=1")
            .<String>path("handle");
    var json =
        ("{\"inputs\":[{\"name\":\"a\",\"shape\":[1],\"datatype\":\"BF16\","
                + "\"parameters\":{\"binary_data_size\":2}}],\"outputs\":[{\"name\":\"c\","
                + "\"parameters\":{\"tensor_handle\":\"%s\"}},{\"name\":\"zeros\"}]}")
            .formatted(kept);
    infer("concat", json, new byte[] {3, 4}).then().statusCode(406);
    assertThat(given().get("/tensors/" + kept + "/data").asByteArray()).containsExactly(1, 2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate", "GZIP"})
  void acceptsCompressedBodies(String encoding) throws IOException {
    var json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","
            + "\"parameters\":{\"binary_data_size\":8}}],"
            + "\"parameters\":{\"binary_data_output\":true}}";
    var compressed = compressed(encoding, joined(json, f32Bytes(1, 2)));
    var answer = Binary.of(inferCompressed(encoding, json.length(), compressed));
    assertThat(answer.bytes).isEqualTo(ByteBuffer.wrap(f32Bytes(1, 2)));
    problem(
        inferCompressed(encoding, json.length(), Arrays.copyOf(compressed, compressed.length - 9)),
        400,
        "malformed-body",
        "Content-Encoding",
        "the body does not match Content-Encoding or is incomplete");
    problem(
        inferCompressed(encoding, json.length(), "plain text".getBytes(UTF_8)),
        400,
        "malformed-body",
        "Content-Encoding",
        "the body does not match Content-Encoding or is incomplete");
  }

  private static byte[] compressed(String encoding, byte[] body) throws IOException {
    var compressed = new ByteArrayOutputStream();
    try (OutputStream out =
        encoding.equalsIgnoreCase("gzip")
            ? new GZIPOutputStream(compressed)
            : new DeflaterOutputStream(compressed)) {
      out.write(body);
    }
    return compressed.toByteArray();
  }

  private Response inferCompressed(String encoding, int header, byte[] body) {
    return given()
        .noContentType()
        .header("Content-Encoding", encoding)
        .header(HEADER, header)
        .body(body)
        .post("/v2/models/identity/infer");
  }

  /** 34 MiB of spaces compress to about 33 kB. */
  @Test
  void limitsDecompressedBodies() throws IOException {
    var spaces = new byte[34 << 20];
    Arrays.fill(spaces, (byte) ' ');
    spaces[0] = '{';
    var bomb = compressed("gzip", spaces);
    assertThat(bomb.length).isLessThan(100_000);
    problem(
        given()
            .noContentType()
            .header("Content-Encoding", "gzip")
            .body(bomb)
            .post("/v2/models/identity/infer"),
        413,
        "too-large",
        null,
        "the body has more bytes; the limit is 33554432 bytes");
  }

  @ParameterizedTest
  @ValueSource(strings = {"br", "gzip, gzip", "zstd"})
  void rejectsOtherEncodings(String encoding) {
    problem(
        inferCompressed(encoding, 10, new byte[20]),
        415,
        "unsupported-media-type",
        "Content-Encoding",
        "Content-Encoding is %s; it must be gzip, deflate or identity".formatted(encoding));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          -1                   | Inference-Header-Content-Length is "-1"; it must be an integer 0 to 33554432
          9223372036854775808  | Inference-Header-Content-Length is "9223372036854775808"; it must be an integer 0 to 33554432
          33554433             | Inference-Header-Content-Length is "33554433"; it must be an integer 0 to 33554432
          0x10                 | Inference-Header-Content-Length is "0x10"; it must be an integer 0 to 33554432
          1e2                  | Inference-Header-Content-Length is "1e2"; it must be an integer 0 to 33554432
          1000                 | Inference-Header-Content-Length is 1000, but the body has 92 bytes
          """)
  void rejectsInvalidHeaderLengths(String header, String detail) {
    var json = "{\"inputs\": [%s]}".formatted(X);
    assertThat(json).hasSize(80);
    problem(
        given()
            .noContentType()
            .header(HEADER, header)
            .body(joined(json, new byte[12]))
            .post("/v2/models/identity/infer"),
        400,
        "invalid-attribute",
        HEADER,
        detail);
  }

  @Test
  void rejectsDuplicateHeaders() {
    problem(
        given()
            .noContentType()
            .header(HEADER, 80, 80)
            .body("{\"inputs\": [%s]}".formatted(X).getBytes(UTF_8))
            .post("/v2/models/identity/infer"),
        400,
        "invalid-attribute",
        HEADER,
        HEADER + " is given 2 times; give it once");
  }

  /** Columns: JSON, number of bytes after it, expected code, field and message. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}]} | 9 | invalid-tensor | body | the body is longer than the sum of all binary_data_size
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}]} | 7 | invalid-tensor | inputs.x | f32[2] needs 8 bytes of data, got 7
          {"inputs":[{"name":"x","shape":[3],"datatype":"FP32","parameters":{"binary_data_size":8}}]} | 8 | invalid-tensor | inputs.x.parameters.binary_data_size | inputs.x.parameters.binary_data_size is 8, but FP32[3] needs 12 bytes
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":8}}]} | 8 | invalid-tensor | inputs.x.parameters.binary_data_size | inputs.x.parameters.binary_data_size is 8, but FP32[1] needs 4 bytes
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":7}}]} | 7 | invalid-tensor | inputs.x.parameters.binary_data_size | inputs.x.parameters.binary_data_size is 7, but FP32[2] needs 8 bytes
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":-8}}]} | 8 | invalid-attribute | inputs.x.parameters.binary_data_size | inputs.x.parameters.binary_data_size is -8; it must be an integer of at least 0
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":99999999999999999999}}]} | 8 | invalid-attribute | inputs.x.parameters.binary_data_size | inputs.x.parameters.binary_data_size is 99999999999999999999; it must be an integer of at least 0
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2],"parameters":{"binary_data_size":8}}]} | 8 | invalid-tensor | inputs.x | inputs.x has both data and binary_data_size; give only one
          {"inputs":[{"name":"x","shape":[-1],"datatype":"FP32","parameters":{"binary_data_size":8}}]} | 8 | invalid-tensor | inputs.x.shape | inputs.x.shape is [-1]; every extent must be at least 0
          {"inputs":[{"name":"x","shape":[4611686018427387904,4],"datatype":"FP32","parameters":{"binary_data_size":0}}]} | 0 | invalid-tensor | inputs.x.shape | inputs.x.shape is [4611686018427387904, 4], which exceeds 2^63 bytes
          {"inputs":[{"name":"x","shape":[2147483648],"datatype":"FP32","parameters":{"binary_data_size":8589934592}}]} | 8 | too-large | inputs.x | f32[2147483648] needs 8589934592 bytes; the limit is 33554432 bytes
          {"inputs":[{"name":"x","shape":[2],"datatype":"BOOL","parameters":{"binary_data_size":2}}]} | 2 | invalid-tensor | inputs.x | byte 0 of a bool tensor is 120; it must be 0 or 1
          {"inputs":[{"name":"x","shape":[2],"datatype":"FP32"}]} | 0 | invalid-tensor | inputs.x | inputs.x has no data; give data, binary_data_size or tensor_handle
          {"inputs":[{"name":"x","shape":[2],"parameters":{"binary_data_size":8}}]} | 8 | invalid-tensor | inputs.x.datatype | inputs.x.datatype is missing
          {"inputs":[{"name":"x","datatype":"FP32","data":[1]}]} | 0 | invalid-tensor | inputs.x.shape | inputs.x.shape is missing
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1],"strides":[1]}]} | 0 | unknown-field | inputs.x.strides | inputs.x.strides is unknown; known keys are name, shape, datatype, parameters, data
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]},{"name":"x","shape":[1],"datatype":"FP32","data":[1]}]} | 0 | invalid-tensor | inputs.x | inputs.x is given twice; give it once
          {"inputs":[{"name":"z","shape":[1],"datatype":"FP32","data":[1]}]} | 0 | unknown-field | inputs.z | inputs.z is unknown; the inputs are x
          {"inputs":[{"shape":[1],"datatype":"FP32","data":[1]}]} | 0 | invalid-tensor | inputs[0].name | inputs[0].name is missing
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"shared_memory_region":"r"}}]} | 0 | unknown-field | inputs.x.parameters.shared_memory_region | inputs.x.parameters.shared_memory_region is not supported. Send the data, or upload it to /tensors and pass its handle as the parameter tensor_handle.
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"tensor_handle":7}}]} | 0 | invalid-attribute | inputs.x.parameters.tensor_handle | inputs.x.parameters.tensor_handle is 7; it must be a string such as "t_…"
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"tensor_handle":[7]}}]} | 0 | invalid-attribute | inputs.x.parameters.tensor_handle | inputs.x.parameters.tensor_handle is [7]; it must be a string such as "t_…"
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"tensor_handle":"t_1","binary_data_size":4}}]} | 4 | invalid-tensor | inputs.x | inputs.x has both a tensor_handle and data; give only one
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"deep":{"er":1}}}]} | 0 | invalid-attribute | inputs.x.parameters.deep | inputs.x.parameters.deep must be true, false, a number, a string or a list of numbers, got an object
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{"name":"z"}]} | 0 | unknown-field | outputs.z | outputs.z is unknown; the outputs are y
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{"name":"y"},{"name":"y"}]} | 0 | invalid-tensor | outputs.y | outputs.y is given twice; give it once
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{}]} | 0 | invalid-tensor | outputs[0].name | outputs[0].name is missing
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{"name":"y","parameters":{"classification":3}}]} | 0 | unknown-field | outputs.y.parameters.classification | outputs.y.parameters.classification is not supported. Read the output and rank it in the client.
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{"name":"y","parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}]} | 0 | unknown-field | outputs.y.parameters.shared_memory_region | outputs.y.parameters.shared_memory_region is not supported. Send the data, or upload it to /tensors and pass its handle as the parameter tensor_handle.
          {"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":[{"name":"y","parameters":{"tensor_store":"yes"}}]} | 0 | invalid-attribute | outputs.y.parameters.tensor_store | outputs.y.parameters.tensor_store is "yes"; it must be true or false
          {"inputs":[],"outputs":"y"} | 0 | invalid-tensor | outputs | outputs must be a list
          {"inputs":["x"]} | 0 | invalid-tensor | inputs[0] | inputs[0] must be an object, got a string
          {"inputs":[]} | 0 | missing-input | inputs.x | input "x" […] is missing; the inputs of identity are x
          {"id":42,"inputs":[]} | 0 | invalid-attribute | id | id must be a string, got a number
          {"model":"x"} | 0 | unknown-field | model | model is unknown; known keys are id, model_name, model_version, parameters, inputs, outputs
          {"model_name":"concat"} | 0 | invalid-attribute | model_name | model_name is "concat"; it must be "identity" as in the path, or absent
          {"model_version":"2"} | 0 | invalid-attribute | model_version | model_version is "2"; it must be "1" as in the path, or absent
          {"model_name":null} | 0 | invalid-attribute | model_name | model_name must be a string, got null
          """)
  void rejectsHostileBodies(String json, int bytes, String code, String field, String detail) {
    var tensor = new byte[bytes];
    Arrays.fill(tensor, (byte) 'x');
    problem(
        infer("identity", json, tensor), code.equals("too-large") ? 413 : 400, code, field, detail);
  }

  @Test
  void requiresTheHeaderLengthForBytes() {
    problem(
        inferJson(
            "identity",
            "{\"inputs\": [{\"name\": \"x\", \"shape\": [1], \"datatype\": \"FP32\", \"parameters\": {\"binary_data_size\": 4}}]}"),
        400,
        "invalid-tensor",
        "inputs.x",
        "inputs.x has binary_data_size, but the request lacks the header Inference-Header-Content-Length");
  }

  @Test
  void rejectsStrings() {
    var detail =
        inferJson(
                "identity",
                "{\"inputs\": [{\"name\": \"x\", \"shape\": [1], \"datatype\": \"BYTES\", \"data\": [\"a\"]}]}")
            .then()
            .statusCode(400)
            .extract()
            .<String>path("error");
    assertThat(detail).startsWith("inputs.x.datatype is \"BYTES\"; it must be one of FP64, FP32, ");
  }

  @Test
  void limitsParameters() {
    var many = new StringBuilder();
    for (int i = 0; i < 300; i++) {
      many.append(i == 0 ? "" : ",").append("\"p").append(i).append("\": 1");
    }
    problem(
        inferJson("identity", "{\"parameters\": {%s}, \"inputs\": [%s]}".formatted(many, X)),
        400,
        "invalid-attribute",
        "parameters",
        "parameters has more than 256 members");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "mode": "c"             | invalid-attribute | attributes.mode | attribute "mode" must be one of a, b, got "c"
          "gate": 1               | invalid-attribute | attributes.gate | attribute "gate" must be true or false, got 1
          "nonsense": 7           | unknown-field     | parameters.nonsense | parameters.nonsense is unknown; known parameters are gate, factor, mode, deadline_ms, priority, timeout
          "sequence_id": true     | invalid-attribute | parameters.sequence_id | parameters.sequence_id is true; it must be an integer of at least 0
          "sequence_start": 1     | invalid-attribute | parameters.sequence_start | parameters.sequence_start is 1; it must be true or false
          "priority": 6           | invalid-attribute | parameters.priority | parameters.priority is 6; it must be an integer 0 to 5
          "timeout": -1           | invalid-attribute | parameters.timeout | parameters.timeout is -1; it must be an integer of at least 0
          "timeout": 1.5          | invalid-attribute | parameters.timeout | parameters.timeout is 1.5; it must be an integer of at least 0
          "deadline_ms": "soon"   | invalid-attribute | parameters.deadline_ms | parameters.deadline_ms is "soon"; it must be an integer of at least 0
          "binary_data_output": 1 | invalid-attribute | parameters.binary_data_output | parameters.binary_data_output is 1; it must be true or false
          """)
  void rejectsInvalidParameters(String parameter, String code, String field, String detail) {
    problem(
        inferJson("identity", "{\"parameters\": {%s}, \"inputs\": [%s]}".formatted(parameter, X)),
        400,
        code,
        field,
        detail);
  }

  @Test
  void acceptsValidParameters() {
    inferJson(
            "identity",
            ("{\"parameters\": {\"factor\": 2.5, \"mode\": \"a\", \"gate\": false, \"priority\": 1,"
                    + " \"timeout\": 18446744073709551615, \"deadline_ms\": 60000}, \"inputs\": [%s]}")
                .formatted(X))
        .then()
        .statusCode(200);
  }

  /** Serializers of optional fields write null for absent ones. */
  @Test
  void nullMeansAbsent() {
    json("""
    {"id": null, "parameters": null, "outputs": null,
     "inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1], "parameters": null}]}
    """)
        .post("/v2/models/identity/infer")
        .then()
        .statusCode(200)
        .body("id", nullValue())
        .body("outputs[0].data[0]", equalTo(1f));
  }

  @Test
  void returnsIdsUnchanged() {
    var id = "a\\\"b\\r\\nX-Evil: 1\\u001b[31m\\uD83D\\uDE00";
    inferJson("identity", "{\"id\": \"%s\", \"inputs\": [%s]}".formatted(id, X))
        .then()
        .statusCode(200)
        .header("X-Evil", nullValue())
        .body("id", equalTo("a\"b\r\nX-Evil: 1\u001b[31m😀"));
    problem(
        inferJson("identity", "{\"id\": \"\\ud800\", \"inputs\": [%s]}".formatted(X)),
        400,
        "invalid-attribute",
        "id",
        "id contains an unpaired surrogate, which is not a character");
    problem(
        inferJson("identity", "{\"id\": \"%s\", \"inputs\": [%s]}".formatted("a".repeat(1025), X)),
        400,
        "invalid-attribute",
        "id",
        "id has 1025 characters; the limit is 1024");
    // an unpaired surrogate in a name cannot be repeated either
    problem(
        inferJson("identity", "{\"inputs\": [{\"name\": \"\\ud800\"}]}"),
        400,
        "unknown-field",
        "inputs.?",
        "inputs.? is unknown; the inputs are x");
  }

  @Test
  void statisticsCountInferences() {
    var before = given().get("/v2/models/identity/stats").jsonPath();
    inferJson("identity", "{\"inputs\": [%s]}".formatted(X)).then().statusCode(200);
    inferJson("identity", "{\"inputs\": [], \"parameters\": {\"factor\": 1}}")
        .then()
        .statusCode(400);
    var stats = given().get("/v2/models/identity/versions/1/stats");
    stats
        .then()
        .statusCode(200)
        .body("model_stats.size()", equalTo(1))
        .body("model_stats[0].name", equalTo("identity"))
        .body("model_stats[0].version", equalTo("1"))
        .body("model_stats[0].batch_stats[0].batch_size", equalTo(1))
        .body("model_stats[0].inference_stats.cache_hit.count", equalTo(0));
    var after = stats.jsonPath();
    assertThat(increase(before, after, "inference_count")).isEqualTo(1);
    assertThat(increase(before, after, "execution_count")).isEqualTo(1);
    assertThat(after.getLong("model_stats[0].batch_stats[0].compute_infer.count"))
        .isEqualTo(after.getLong("model_stats[0].execution_count"));
    assertThat(increase(before, after, "inference_stats.success.count")).isEqualTo(1);
    assertThat(increase(before, after, "inference_stats.queue.count")).isEqualTo(1);
    assertThat(increase(before, after, "inference_stats.compute_infer.count")).isEqualTo(1);
    assertThat(increase(before, after, "inference_stats.fail.count")).isEqualTo(1);
    assertThat(increase(before, after, "inference_stats.success.ns")).isPositive();
    assertThat(after.getLong("model_stats[0].last_inference")).isEqualTo(clock.millis());
    given()
        .get("/v2/models/stats")
        .then()
        .statusCode(200)
        .body("model_stats.name", contains("concat", "identity", "join", "split"));
  }

  private static long increase(JsonPath before, JsonPath after, String of) {
    var path = "model_stats[0]." + of;
    return after.getLong(path) - before.getLong(path);
  }

  @Test
  void checksTheAcceptHeader() {
    given()
        .accept("text/html")
        .get("/v2/models/identity")
        .then()
        .statusCode(406)
        .body("error", equalTo("Accept is text/html; it must be application/json"));
    json("{\"inputs\": [%s]}".formatted(X))
        .accept("image/png")
        .post("/v2/models/identity/infer")
        .then()
        .statusCode(406);
    given().get("/v2/models/identity/stats").then().body("model_stats", not(empty()));
  }
}
