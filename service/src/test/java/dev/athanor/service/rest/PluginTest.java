package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.closeTo;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasItems;
import static org.hamcrest.Matchers.startsWith;

import dev.athanor.service.AthanorApplication;
import io.restassured.RestAssured;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Ops of a jar that was built apart are called like those of the library. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "athanor.tuning.cache=none.json"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class PluginTest {

  @TempDir private static Path folder;
  @LocalServerPort private int port;

  @DynamicPropertySource
  static void plugins(DynamicPropertyRegistry properties) throws IOException {
    ExamplePlugin.pack(folder);
    properties.add("athanor.plugins", folder::toString);
  }

  private RequestSpecification given() {
    return RestAssured.given()
        .spec(new RequestSpecBuilder().setBaseUri("http://127.0.0.1").setPort(port).build());
  }

  @Test
  void anOpOnElementsRuns() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [4], "data": [-2, 0.5, 3, "NaN"]}},
             "attributes": {"low": -1}}
            """)
        .post("/ops/clamp")
        .then()
        .statusCode(200)
        .body("kernel", equalTo("clamp_f32"))
        .body("outputs.y.data", equalTo(List.of(-1.0f, 0.5f, 1.0f, -1.0f)));
  }

  @Test
  void anOpOnRowsRuns() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [2, 3], "data": [5, 5, 5, 0, 0, "-Infinity"]}}}
            """)
        .post("/ops/log-softmax")
        .then()
        .statusCode(200)
        .body("kernel", startsWith("log_softmax_f32_"))
        .body("outputs.y.data[0].toDouble()", closeTo(-Math.log(3), 1e-6))
        .body("outputs.y.data[3].toDouble()", closeTo(-Math.log(2), 1e-6))
        .body("outputs.y.data[5]", equalTo("-Infinity"));
  }

  @Test
  void anOpOnTilesRuns() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"a": {"dtype": "f16", "shape": [2, 2], "data": [0, 0, 3, 4]},
                        "b": {"dtype": "f16", "shape": [3, 2], "data": [0, 0, 3, 4, -1, 1]}}}
            """)
        .post("/ops/squared-distances")
        .then()
        .statusCode(200)
        .body("kernel", startsWith("squared_distances_f16_"))
        .body("outputs.c.data", equalTo(List.of(0f, 25f, 2f, 25f, 0f, 25f)));
  }

  @Test
  void theyAreDescribedAmongOthers() {
    given()
        .get("/ops")
        .then()
        .statusCode(200)
        .body("ops.name", hasItems("clamp", "log-softmax", "squared-distances"))
        .body("ops.name", hasItem("matmul"));
    assertThat(given().get("/openapi.yaml").asString())
        .contains("/ops/clamp:", "y = min(max(x, low), high)");
  }

  @Test
  void refusalsAreAnswered() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [1], "data": [0]}}, "attributes": {"low": 2}}
            """)
        .post("/ops/clamp")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:invalid-attribute"))
        .body("detail", equalTo("low is 2.0 and high is 1.0; low must not be above high"));
  }
}
