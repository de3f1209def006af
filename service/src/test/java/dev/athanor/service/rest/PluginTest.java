package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.closeTo;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasItems;
import static org.hamcrest.Matchers.startsWith;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Tests calls of ops from a separately built jar. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "athanor.tuning.cache=none.json"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
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
  void runsAnElementwiseOp() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [4], "data": [-2, 0.5, 3, "NaN"]}},
             "attributes": {"low": -1}}
            """)
        .post("/ops/clip")
        .then()
        .statusCode(200)
        .body("kernel", equalTo("clip_f32"))
        .body("outputs.y.data", equalTo(List.of(-1.0f, 0.5f, 1.0f, -1.0f)));
  }

  @Test
  void runsARowOp() {
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
  void runsATileOp() {
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
  void runsAnOpFromAKernelInJava() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [2, 3], "data": [5, 5, 5, 0, 0, "-Infinity"]}}}
            """)
        .post("/ops/row-softmax")
        .then()
        .statusCode(200)
        .body("kernel", equalTo("rowSoftmax"))
        .body("outputs.y.shape", equalTo(List.of(2, 3)))
        .body("outputs.y.data[0].toDouble()", closeTo(1 / 3.0, 1e-6))
        .body("outputs.y.data[3].toDouble()", closeTo(0.5, 1e-6))
        .body("outputs.y.data[5]", equalTo(0f));
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f16", "shape": [2], "data": [1, 1]}}, "attributes": {"scale": 3}}
            """)
        .post("/ops/row-softmax")
        .then()
        .statusCode(200)
        .body("kernel", equalTo("rowSoftmaxHalf"))
        .body("outputs.y.data", equalTo(List.of(0.5f, 0.5f)));
  }

  @Test
  void runsAKernelInJavaWithAnotherOutputShape() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "i32", "shape": [2, 5], "data": [1, 2, 4, 3, 9, -8, -7, -5, -6, 9]}}}
            """)
        .post("/ops/row-max-pool")
        .then()
        .statusCode(200)
        .body("outputs.y.shape", equalTo(List.of(2, 2)))
        .body("outputs.y.data", equalTo(List.of(2, 4, -7, -5)));
  }

  /** Invalid calls of an op from a kernel in Java are rejected like those of other ops. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {"inputs": {}} | missing-input | input "x" […, C] is missing; the inputs of row-softmax are x
          {"inputs": {"x": {"dtype": "i32", "shape": [1], "data": [1]}}} | unsupported-dtype | input "x" is i32; row-softmax supports f32, f16
          {"inputs": {"x": {"dtype": "f32", "shape": [], "data": [1]}}} | shape-mismatch | input "x" has shape []; it must be […, C]
          {"inputs": {"x": {"dtype": "f32", "shape": [1], "data": [1]}}, "attributes": {"scale": -1}} | invalid-attribute | attribute "scale" must be from 0 to 1000000, got -1
          {"inputs": {"x": {"dtype": "f32", "shape": [1], "data": [1]}}, "attributes": {"axis": 1}} | unknown-field | attributes.axis is unknown; known keys are scale
          """)
  void checksCallsOfAKernelInJava(String body, String code, String detail) {
    given()
        .contentType("application/json")
        .body(body)
        .post("/ops/row-softmax")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:" + code))
        .body("op", equalTo("row-softmax"))
        .body("detail", equalTo(detail));
  }

  @Test
  void opsFromKernelsInJavaHaveMetricsAndPtx() {
    given()
        .contentType("application/json")
        .body("{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}}}")
        .post("/ops/row-softmax")
        .then()
        .statusCode(200);
    assertThat(given().get("/actuator/prometheus").asString())
        .containsPattern("athanor_op_requests_total\\{[^}]*op=\"row-softmax\",outcome=\"ok\"} ");
    given()
        .queryParam("problem", "x=f32[2,3]")
        .get("/ops/row-softmax/ptx")
        .then()
        .statusCode(200)
        .body(containsString("rowSoftmax"));
  }

  @Test
  void listsThemWithOtherOps() {
    given()
        .get("/ops")
        .then()
        .statusCode(200)
        .body(
            "ops.name",
            hasItems("clip", "log-softmax", "squared-distances", "row-softmax", "row-max-pool"))
        .body("ops.name", hasItem("matmul"));
    assertThat(given().get("/openapi.yaml").asString())
        .contains("/ops/clip:", "y = min(max(x, low), high)")
        .contains("/ops/row-max-pool:", "y[r, p] = max x[r, window · p + i] for i < window");
  }

  @Test
  void reportsErrorsOfTheOp() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [1], "data": [0]}}, "attributes": {"low": 2}}
            """)
        .post("/ops/clip")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:invalid-attribute"))
        .body("detail", equalTo("low is 2.0 and high is 1.0; low must not be above high"));
  }
}
