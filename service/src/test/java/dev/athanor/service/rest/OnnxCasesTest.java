package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.codec.Safetensors;
import io.restassured.RestAssured;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Runs node tests of ONNX that one call of an op passes. {@code tests/onnx_cases.py} of the Python
 * client writes them; it runs all of them.
 */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class OnnxCasesTest {

  private static final int LEAST_CASES = 270;

  private static final JsonMapper JSON = new JsonMapper();

  @LocalServerPort int port;

  static List<Arguments> cases() throws IOException {
    var file = Objects.requireNonNull(OnnxCasesTest.class.getResourceAsStream("/onnx-cases.jsonl"));
    var cases = new ArrayList<Arguments>();
    try (var lines = new BufferedReader(new InputStreamReader(file, StandardCharsets.UTF_8))) {
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        var one = JSON.readTree(line);
        cases.add(Arguments.of(one.get("test").asString(), one));
      }
    }
    return cases;
  }

  @Test
  void thereAreManyCases() throws IOException {
    assertThat(cases()).hasSizeGreaterThanOrEqualTo(LEAST_CASES);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("cases")
  void theResultIsThatOfOnnx(String test, JsonNode one) throws IOException {
    var request = JSON.createObjectNode();
    request.set("inputs", one.get("inputs"));
    request.set("attributes", one.get("attributes"));
    byte[] answer =
        RestAssured.given()
            .spec(OpenApiFilter.client(port))
            .contentType("application/json")
            .accept("application/x-safetensors")
            .body(request.toString())
            .post("/ops/" + one.get("op").asString())
            .then()
            .statusCode(200)
            .extract()
            .asByteArray();
    Map<String, HostTensor> outputs;
    try (var arena = Arena.ofConfined()) {
      var segment = arena.allocate(answer.length, Long.BYTES);
      MemorySegment.copy(answer, 0, segment, ValueLayout.JAVA_BYTE, 0, answer.length);
      outputs = Safetensors.read(segment);
      one.get("outputs").properties().forEach(expected -> check(expected, outputs));
    }
  }

  /** Compares an output; one without a name is the only one. */
  private static void check(Map.Entry<String, JsonNode> expected, Map<String, HostTensor> outputs) {
    var name = expected.getKey();
    var actual =
        name.isEmpty()
            ? outputs.values().iterator().next()
            : Objects.requireNonNull(outputs.get(name));
    var tensor = tensor(expected.getValue());
    assertThat(actual.type()).isEqualTo(tensor.type());
    double[] exact = tensor.toDoubles();
    double[] given = actual.toDoubles();
    // ONNX's reference rounds f16 and bf16 at every step
    double error = actual.type().dtype().bytes() < 4 ? 2e-2 : 1e-3;
    assertThat(Tolerance.maximum(error).error(given, exact)).as(name).isLessThanOrEqualTo(error);
  }

  private static HostTensor tensor(JsonNode json) {
    var extents = new ArrayList<Long>();
    json.get("shape").forEach(extent -> extents.add(extent.asLong()));
    var type =
        new TensorType(DType.of(json.get("dtype").asString()).orElseThrow(), new Shape(extents));
    var data = Base64.getDecoder().decode(json.get("base64").asString());
    return new HostTensor(type, MemorySegment.ofArray(data));
  }
}
