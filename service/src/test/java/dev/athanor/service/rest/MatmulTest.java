package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.closeTo;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.startsWith;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import io.restassured.specification.RequestSpecification;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests real ops without test beans. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator:0",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class MatmulTest {

  @LocalServerPort int port;

  @Value("${athanor.device}")
  String device;

  private RequestSpecification given() {
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  private RequestSpecification json(String body) {
    return given().contentType("application/json").body(body);
  }

  @Test
  void isReadyAndListsMatmul() {
    given().get("/readyz").then().statusCode(200);
    given().get("/ops").then().body("ops.name", hasItem("matmul"));
    given()
        .get("/ops/matmul")
        .then()
        .body("inputs.name", contains("a", "b", "bias"))
        .body("outputs.name", contains("c"));
  }

  @Test
  void ptxNamesTheJavaLines() {
    var ran =
        json("""
        {"inputs": {"x": {"dtype": "f32", "shape": [4], "data": [1, -2, 3, -4]}}}
        """)
            .post("/ops/relu")
            .then()
            .statusCode(200)
            .extract()
            .<String>path("kernel");
    var plan =
        given()
            .queryParam("problem", "x=f32[4]")
            .get("/ops/relu/ptx")
            .then()
            .statusCode(200)
            .body("op", equalTo("relu"))
            .body("device", equalTo(device))
            .body("problem", equalTo("x=f32[4]"))
            .body("kernel", equalTo(ran))
            .body("explanation", containsString(ran))
            .extract()
            .jsonPath();
    var lines = plan.getList("kernels[0].lines.text", String.class);
    assertThat(lines).anyMatch(line -> line.startsWith(".visible .entry " + ran));
    int store =
        lines.indexOf(
            lines.stream().filter(l -> l.contains("st.global")).findFirst().orElseThrow());
    assertThat(plan.getString("kernels[0].lines[%d].source".formatted(store)))
        .matches("\\w+\\.java:\\d+");
    assertThat(plan.getInt("kernels[0].lines[%d].live".formatted(store)))
        .isBetween(3, plan.getInt("kernels[0].registersLive"));
    var source = plan.getString("kernels[0].lines[%d].source".formatted(store)).split(":", -1);
    var java =
        "sources.find { it.file == '%s' }.lines.find { it.number == %s }.text"
            .formatted(source[0], source[1]);
    assertThat(plan.getString(java)).isNotBlank();
    assertThat(plan.<Object>get("kernels[0].machineCode")).isNull();
    var instructions = plan.getList("kernels[0].lines.findAll { it.source != null }");
    assertThat(instructions).hasSize(plan.getInt("kernels[0].instructions"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          x=f32           | missing-input       | inputs.x     | input "x" […] is missing
          x=f32[4] z=1    | unknown-field       | attributes.z | relu has no attribute "z"
          x               | invalid-attribute   | problem      | "x" is neither an input
          x=f33[4]        | invalid-attribute   | problem      | "f33[4]" has an unknown dtype
          x=u8[4]         | unsupported-dtype   | inputs.x     | input "x" is u8; relu supports
          z=f32[4]        | unknown-field       | inputs.z     | relu has no input "z"
          x=f32[9999999999,9999999999] | shape-mismatch | inputs.x | the maximum is 2^63 - 1 bytes
          """)
  void rejectsInvalidProblemsWithAMessage(
      String problem, String code, String field, String message) {
    given()
        .queryParam("problem", problem)
        .get("/ops/relu/ptx")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:" + code))
        .body("field", equalTo(field))
        .body("detail", containsString(message));
  }

  @Test
  void assemblesKernelsIfThereIsAnAssembler() {
    var code =
        given()
            .queryParams("problem", "x=f32[4]", "assemble", "true")
            .get("/ops/relu/ptx")
            .then()
            .statusCode(200)
            .body("kernels[0].machineCode.target", startsWith("sm_"))
            .extract()
            .jsonPath();
    if (device.startsWith("vulkan")) { // it has sm_70, which only older assemblers know
      assertThat(code.<Object>get("kernels[0].machineCode.problem") == null)
          .isEqualTo(code.<Object>get("kernels[0].machineCode.code") != null);
    } else if (Assembler.best().isPresent()) {
      assertThat(code.getInt("kernels[0].machineCode.code.registers")).isPositive();
      assertThat(code.getInt("kernels[0].machineCode.code.byClass.STG")).isPositive();
    } else {
      assertThat(code.getString("kernels[0].machineCode.problem"))
          .startsWith("The server has no assembler. Put ptxas of a CUDA toolkit on");
    }
    given()
        .queryParams("problem", "x=f32[4]", "assemble", "yes")
        .get("/ops/relu/ptx")
        .then()
        .statusCode(400)
        .body("field", equalTo("assemble"))
        .body("detail", equalTo("the query parameter assemble must be true or false, got \"yes\""));
  }

  @Test
  void ptxNeedsAProblemAndAnOp() {
    given()
        .get("/ops/relu/ptx")
        .then()
        .statusCode(400)
        .body("field", equalTo("problem"))
        .body("detail", startsWith("the query parameter problem is missing; give"));
    given()
        .queryParam("problem", "x=f32[4]")
        .get("/ops/relax/ptx")
        .then()
        .statusCode(404)
        .body("detail", equalTo("Unknown op \"relax\". GET /ops lists all ops."));
  }

  @Test
  void multipliesTwoMatrices() {
    json("""
    {"inputs": {"a": {"dtype": "f32", "shape": [2, 2], "data": [1, 2, 3, 4]},
                "b": {"dtype": "f32", "shape": [2, 2], "data": [[5, 6], [7, 8]]}}}
    """)
        .post("/ops/matmul")
        .then()
        .statusCode(200)
        .body("device", equalTo(device))
        .body("outputs.c.shape", contains(2, 2))
        .body("outputs.c.data", contains(19f, 22f, 43f, 50f));
  }

  @Test
  void transposesBiasAndActivation() {
    json("""
    {"inputs": {"a": {"dtype": "f32", "shape": [1, 2], "data": [1, 2]},
                "b": {"dtype": "f32", "shape": [2, 2], "data": [5, 6, 7, 8]},
                "bias": {"dtype": "f32", "shape": [2], "data": [-20, 1]}},
     "attributes": {"transposeB": true, "alpha": 0.5, "activation": "relu"}}
    """)
        .post("/ops/matmul")
        .then()
        .statusCode(200)
        .body("outputs.c.data", contains(0f, 12.5f));
  }

  @Test
  void reusesAHandleAndShowsMetrics() {
    var b = ByteBuffer.allocate(4 * 64 * 64).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 64; i++) {
      b.putFloat(4 * 65 * i, 1);
    }
    var identity =
        given()
            .contentType("application/octet-stream")
            .body(b.array())
            .post("/tensors?dtype=f32&shape=64,64")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    var product =
        json("""
        {"inputs": {"a": {"handle": "%1$s"}, "b": {"handle": "%1$s"}},
         "outputs": {"c": {"as": "handle"}}}
        """
                .formatted(identity))
            .post("/ops/matmul")
            .then()
            .statusCode(200)
            .extract()
            .<String>path("outputs.c.handle");
    var into =
        json("""
        {"inputs": {"a": {"handle": "%1$s"}, "b": {"handle": "%1$s"}},
         "outputs": {"c": {"into": "%2$s"}}}
        """
                .formatted(identity, product))
            .post("/ops/matmul");
    into.then().statusCode(200).body("outputs.c.version", equalTo(2));
    assertThat(given().get("/tensors/" + product + "/data").asByteArray()).isEqualTo(b.array());
    given()
        .get("/actuator/prometheus")
        .then()
        .body(
            containsString(
                "athanor_kernel_loads_total{device=\"%s\",result=\"hit\"}".formatted(device)))
        .body(
            containsString(
                "athanor_op_requests_total{device=\"%s\",op=\"matmul\"".formatted(device)));
  }

  @Test
  void pipelineNormalizesAndMultiplies() {
    json("""
    {"inputs": {"x": {"dtype": "f32", "shape": [1, 2], "data": [3, 4]},
                "g": {"dtype": "f32", "shape": [2], "data": [1, 2]},
                "w": {"dtype": "f32", "shape": [2, 2], "data": [1, 0, 1, 1]}},
     "steps": [{"op": "rms-norm", "inputs": {"x": "x", "weight": "g"}, "attributes": {}, "outputs": {"y": "h"}},
               {"op": "matmul", "inputs": {"a": "h", "b": "w"}, "outputs": {"c": "z"}}],
     "outputs": {"h": {"as": "inline"}, "z": {"as": "inline"}}}
    """)
        .post("/pipelines/run")
        .then()
        .statusCode(200)
        .body("steps.op", contains("rms-norm", "matmul"))
        .body("outputs.h.data[0].toDouble()", closeTo(3 / Math.sqrt(12.5), 1e-6))
        .body("outputs.z.data[0].toDouble()", closeTo(11 / Math.sqrt(12.5), 1e-5))
        .body("outputs.z.data[1].toDouble()", closeTo(8 / Math.sqrt(12.5), 1e-5));
  }

  @Test
  void rejectsAnInputUnderTwoNames() {
    json("""
    {"inputs": {"x": {"dtype": "f32", "shape": [1, 1], "data": [3]},
                "gamma": {"dtype": "f32", "shape": [1], "data": [1]},
                "weight": {"dtype": "f32", "shape": [1], "data": [1]}}}
    """)
        .post("/ops/rms-norm")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:unknown-field"))
        .body("field", equalTo("inputs.weight"))
        .body(
            "detail",
            equalTo(
                "\"weight\" is an alias of the input \"gamma\", which is also given; give only one of them"));
    given().get("/ops/rms-norm").then().body("inputs[1].aliases", contains("weight"));
  }

  @Test
  void rejectsIncompatibleShapes() {
    json("""
    {"inputs": {"a": {"dtype": "f32", "shape": [2, 3], "data": [1, 2, 3, 4, 5, 6]},
                "b": {"dtype": "f32", "shape": [2, 2], "data": [5, 6, 7, 8]}}}
    """)
        .post("/ops/matmul")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:shape-mismatch"))
        .body("op", equalTo("matmul"))
        .body("field", startsWith("inputs."));
  }
}
