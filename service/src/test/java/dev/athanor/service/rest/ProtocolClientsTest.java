package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.everyItem;

import io.restassured.path.json.JsonPath;
import io.restassured.response.Response;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests requests as the Python clients of KServe ({@code InferRequest.to_rest}) and Triton ({@code
 * tritonclient.http}) send them, byte by byte, because the build cannot install these clients.
 */
class ProtocolClientsTest extends RestTest {

  private static final String HEADER = "Inference-Header-Content-Length";

  /** A uuid4, as KServe's client generates it. */
  private static final String ID = "5f9c6d5e-4f0c-4b62-9a2e-0c5f3d0a7f11";

  /** Posts a request as httpx and orjson do: header names in lower case, JSON without spaces. */
  private Response kserve(String model, String json, byte[]... tensors) {
    var request =
        given()
            .header("accept", "*/*")
            .header("accept-encoding", "gzip, deflate")
            .header("user-agent", "python-httpx/0.28.1")
            .contentType(tensors.length == 0 ? "application/json" : "application/octet-stream");
    if (tensors.length > 0) {
      request.header("inference-header-content-length", json.length());
    }
    return request.body(joined(json, tensors)).post("/v2/models/" + model + "/infer");
  }

  /** Posts a request as rapidjson writes it, without a media type. */
  private Response triton(String path, String json, byte[]... tensors) {
    var request = given().noContentType();
    if (tensors.length > 0) {
      request.header(HEADER, json.length());
    }
    return request.body(joined(json, tensors)).post(path);
  }

  @Test
  void acceptsListsOfKserveInJson() {
    kserve(
            "identity",
            ("{\"id\":\"%s\",\"model_name\":\"identity\",\"inputs\":[{\"name\":\"x\","
                    + "\"shape\":[2],\"datatype\":\"FP32\",\"data\":[1.5,-2.0]}]}")
                .formatted(ID))
        .then()
        .statusCode(200)
        .contentType("application/json")
        .body("id", equalTo(ID))
        .body("model_name", equalTo("identity"))
        .body("outputs[0].name", equalTo("y"))
        .body("outputs[0].shape", contains(2))
        .body("outputs[0].datatype", equalTo("FP32"))
        .body("outputs[0].data", contains(1.5f, -2f));
  }

  @Test
  void acceptsArraysOfKserveAsBytes() {
    var json =
        ("{\"id\":\"%s\",\"model_name\":\"concat\",\"inputs\":[{\"name\":\"a\",\"shape\":[2],"
                + "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":8}},{\"name\":\"b\","
                + "\"shape\":[1],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":4}}],"
                + "\"outputs\":[{\"name\":\"c\",\"parameters\":{\"binary_data\":true}}],"
                + "\"parameters\":{\"binary_data_output\":true}}")
            .formatted(ID);
    var answer = kserve("concat", json, f32Bytes(1, 2), f32Bytes(3));
    answer.then().statusCode(200).contentType("application/octet-stream");
    int header = Integer.parseInt(answer.header(HEADER));
    var body = answer.asByteArray();
    var metadata = JsonPath.from(new String(body, 0, header, UTF_8));
    assertThat(metadata.getString("model_name")).isEqualTo("concat");
    assertThat(metadata.getInt("outputs[0].parameters.binary_data_size")).isEqualTo(12);
    assertThat(Arrays.copyOfRange(body, header, body.length)).isEqualTo(f32Bytes(1, 2, 3));
  }

  @ParameterizedTest
  @ValueSource(strings = {"7", "\"job-7\""})
  void acceptsSequencesPrioritiesAndTimeoutsOfTriton(String sequence) {
    var json =
        ("{\"id\":\"1\",\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","
                + "\"parameters\":{\"binary_data_size\":8}}],\"outputs\":[{\"name\":\"y\","
                + "\"parameters\":{\"binary_data\":false}}],\"parameters\":{\"sequence_id\":%s,"
                + "\"sequence_start\":true,\"sequence_end\":false,\"priority\":1,"
                + "\"timeout\":60000000,\"factor\":1.0}}")
            .formatted(sequence);
    triton("/v2/models/identity/versions/1/infer", json, f32Bytes(4, 5))
        .then()
        .statusCode(200)
        .body("id", equalTo("1"))
        .body("outputs[0].data", contains(4f, 5f));
  }

  @Test
  void listsTheRepositoryForTriton() {
    given()
        .noContentType()
        .post("/v2/repository/index")
        .then()
        .statusCode(200)
        .body("name", contains("concat", "identity", "join", "split"))
        .body("state", everyItem(equalTo("READY")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          GET  | /v2/systemsharedmemory/status                  | ``
          GET  | /v2/systemsharedmemory/region/input/status     | ``
          POST | /v2/systemsharedmemory/region/input/register   | {"key":"/in","offset":0,"byte_size":64}
          POST | /v2/systemsharedmemory/unregister              | ``
          GET  | /v2/cudasharedmemory/status                    | ``
          POST | /v2/cudasharedmemory/region/input/register     | {"raw_handle":{"b64":"AAAA"},"device_id":0,"byte_size":64}
          POST | /v2/cudasharedmemory/region/input/unregister   | ``
          """)
  void rejectsSharedMemoryByName(String method, String path, String body) {
    problem(
        given().noContentType().body(body.getBytes(UTF_8)).request(method, path),
        404,
        "not-found",
        null,
        "Shared memory is not supported. Send the data, or upload it to /tensors and pass its"
            + " handle as the parameter tensor_handle.");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          load   | {}
          unload | {"parameters":{"unload_dependents":false}}
          """)
  void rejectsLoadAndUnloadByName(String verb, String body) {
    problem(
        triton("/v2/repository/models/identity/" + verb, body),
        404,
        "not-found",
        null,
        "Load and unload are not supported. Ops and stored models are always loaded; GET /v2/models"
            + " lists them. PUT /models/{name} stores a model.");
  }
}
