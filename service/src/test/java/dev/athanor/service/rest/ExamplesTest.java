package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.AthanorApplication;
import io.restassured.RestAssured;
import io.restassured.specification.RequestSpecification;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks that the examples of openapi.yaml match their schemas, and sends those that are requests.
 */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class ExamplesTest {

  private static final OpenApi DOCUMENT = OpenApiFilter.DOCUMENT;
  private static final String HANDLE = "t_0123456789abcdef0123456789abcdef_local";

  @LocalServerPort int port;

  private RequestSpecification given() {
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  private static void collect(@Nullable Object node, String at, Map<String, Map<?, ?>> found) {
    if (node instanceof Map<?, ?> map) {
      if (map.containsKey("example") && map.containsKey("schema")) {
        found.put(at, map);
      }
      map.forEach((key, value) -> collect(value, at + "/" + key, found));
    } else if (node instanceof List<?> list) {
      for (int i = 0; i < list.size(); i++) {
        collect(list.get(i), at + "/" + i, found);
      }
    }
  }

  @Test
  void examplesMatchTheirSchemas() {
    var found = new HashMap<String, Map<?, ?>>();
    DOCUMENT.operations().forEach((name, operation) -> collect(operation, name, found));
    assertThat(found).hasSizeGreaterThanOrEqualTo(10);
    found.forEach((at, media) ->
        assertThat(DOCUMENT.violations(media.get("schema"), media.get("example"), at)).isEmpty());
  }

  /** Replaces the example handle with the handle of a new tensor. */
  private String sent(Object example) {
    var text = JsonMapper.shared().writeValueAsString(example);
    if (!text.contains(HANDLE)) {
      return text;
    }
    return text.replace(
        HANDLE,
        given()
            .contentType("application/json")
            .body("{\"dtype\": \"f32\", \"shape\": [2, 2], \"data\": [5, 6, 7, 8]}")
            .post("/tensors")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle"));
  }

  @Test
  void exampleRequestsSucceed() {
    var sent = new ArrayList<String>();
    DOCUMENT
        .operations()
        .forEach((name, operation) -> {
          if (operation.get("requestBody") instanceof Map<?, ?> body
              && OpenApi.map(DOCUMENT.resolve(body).get("content")).get("application/json")
                  instanceof Map<?, ?> media
              && media.get("example") != null) {
            var path = name.substring(name.indexOf(' ') + 1);
            given()
                .contentType("application/json")
                .body(sent(OpenApi.map(media.get("example"))))
                .post(path.replace("{op}", "matmul").replace("{version}", "1"))
                .then()
                .statusCode(200);
            sent.add(name);
          }
        });
    assertThat(sent)
        .contains("POST /ops/{op}", "POST /pipelines/run", "POST /v2/models/{op}/infer");
  }

  /** Returns the example of a query parameter. */
  private static Object parameter(String operation, String name) {
    var parameters = OpenApi.map(DOCUMENT.operations().get(operation)).get("parameters");
    for (var parameter : (List<?>) Objects.requireNonNull(parameters)) {
      var resolved = DOCUMENT.resolve(parameter);
      if (name.equals(resolved.get("name"))) {
        return Objects.requireNonNull(resolved.get("example"));
      }
    }
    throw new AssertionError(operation + " has no parameter " + name);
  }

  @Test
  void exampleProblemIsValid() {
    given()
        .queryParam("problem", parameter("GET /ops/{op}/ptx", "problem"))
        .get("/ops/matmul/ptx")
        .then()
        .statusCode(200)
        .body("op", equalTo("matmul"));
  }

  @Test
  void exampleAttributesAreValid() {
    var header =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
            + "\"b\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,32]}}";
    var file =
        ByteBuffer.allocate(8 + header.length() + 32)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(header.length())
            .put(header.getBytes(StandardCharsets.US_ASCII));
    var request = given().contentType("application/x-safetensors").body(file.array());
    OpenApi.map(parameter("POST /ops/{op}", "arguments"))
        .forEach((name, value) -> request.queryParam(name.toString(), value));
    request
        .accept("application/json")
        .post("/ops/matmul")
        .then()
        .statusCode(200)
        .body("outputs.c.handle", org.hamcrest.Matchers.startsWith("t_"));
  }
}
