package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.athanor.models.onnx.file.TensorProtos;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.OnnxFiles;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import io.restassured.path.json.JsonPath;
import io.restassured.specification.RequestSpecification;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Stores models and tests of the onnx package, and runs each in one call on the emulator. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class OnnxModelsTest {

  /** Operators with a test whose inputs may all be inputs of a call. */
  private static final int LEAST_OPERATORS = TestTier.choose(50, 125, 125);

  /** Distance of the tests that a normal build runs. */
  private static final int SAMPLED = 5;

  @LocalServerPort int port;

  private RequestSpecification given() {
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  /** Runs the first test of each operator that the import supports. */
  @Test
  void modelsOfOneNodeReturnWhatOnnxExpects() throws InvalidProtocolBufferException {
    var ran = new HashSet<String>();
    for (var test : TestTier.sample(List.copyOf(OnnxFiles.nodes().entrySet()), SAMPLED)) {
      var model = Objects.requireNonNull(test.getValue().get("model"));
      var operator = ModelProto.parseFrom(model).getGraph().getNode(0).getOpType();
      if (!ran.contains(operator) && runs(test.getKey(), model, test.getValue())) {
        ran.add(operator);
      }
    }
    assertThat(ran).hasSizeGreaterThanOrEqualTo(LEAST_OPERATORS);
  }

  static Set<String> models() {
    return OnnxFiles.models().keySet();
  }

  @ParameterizedTest
  @MethodSource("models")
  void modelsReturnWhatPyTorchExpects(String name) throws InvalidProtocolBufferException {
    var files = Objects.requireNonNull(OnnxFiles.models().get(name));
    assertThat(runs(name, Objects.requireNonNull(files.get("model")), files)).isTrue();
  }

  /** Returns whether the service accepts the model and its inputs. */
  private boolean runs(String test, byte[] model, Map<String, byte[]> files)
      throws InvalidProtocolBufferException {
    int status =
        given().contentType("application/onnx").body(model).put("/models/node").statusCode();
    if (status != 201) {
      assertThat(status).as(test).isEqualTo(400);
      return false;
    }
    var inputs = new LinkedHashMap<String, String>();
    for (var tensor : tensors(files, "input").entrySet()) {
      inputs.put(tensor.getKey(), json(tensor.getValue()));
    }
    List<String> names = given().get("/models/node").jsonPath().getList("outputs");
    var answer =
        given()
            .contentType("application/json")
            .body(
                "{\"inputs\": {%s}, \"outputs\": {%s}}"
                    .formatted(
                        inputs.entrySet().stream()
                            .map(input -> "\"%s\": %s".formatted(input.getKey(), input.getValue()))
                            .collect(Collectors.joining(", ")),
                        names.stream()
                            .map("\"%s\": {\"encoding\": \"base64\"}"::formatted)
                            .collect(Collectors.joining(", "))))
            .post("/models/node/run");
    if (answer.statusCode() != 200) {
      assertThat(answer.statusCode()).as(test + answer.asString()).isEqualTo(400);
      return false;
    }
    var path = answer.jsonPath();
    var expected = tensors(files, "output");
    assertThat(expected.keySet()).as(test).containsExactlyElementsOf(names);
    double[] tolerance = tolerance(Objects.requireNonNull(files.get("tolerance")));
    expected.forEach((name, tensor) -> check(test, tensor, output(path, name), tolerance));
    return true;
  }

  private static Map<String, HostTensor> tensors(Map<String, byte[]> files, String kind)
      throws InvalidProtocolBufferException {
    var tensors = new LinkedHashMap<String, HostTensor>();
    for (var file : files.entrySet()) {
      if (file.getKey().startsWith(kind)) {
        var tensor = TensorProto.parseFrom(file.getValue());
        tensors.put(tensor.getName(), TensorProtos.read(tensor));
      }
    }
    return tensors;
  }

  private static String json(HostTensor tensor) {
    var bytes = tensor.data().toArray(ValueLayout.JAVA_BYTE);
    return "{\"dtype\": \"%s\", \"shape\": %s, \"base64\": \"%s\"}"
        .formatted(
            tensor.type().dtype().text(),
            tensor.type().shape().extents(),
            Base64.getEncoder().encodeToString(bytes));
  }

  private static HostTensor output(JsonPath answer, String name) {
    Map<String, Object> output = answer.getMap("outputs.'%s'".formatted(name));
    var extents = new ArrayList<Long>();
    ((List<?>) Objects.requireNonNull(output.get("shape")))
        .forEach(extent -> extents.add(((Number) extent).longValue()));
    var dtype = DType.of((String) Objects.requireNonNull(output.get("dtype"))).orElseThrow();
    var data = Base64.getDecoder().decode((String) Objects.requireNonNull(output.get("base64")));
    return new HostTensor(new TensorType(dtype, new Shape(extents)), MemorySegment.ofArray(data));
  }

  private static double[] tolerance(byte[] text) {
    var numbers = new String(text, UTF_8).split(" ", -1);
    return new double[] {Double.parseDouble(numbers[0]), Double.parseDouble(numbers[1])};
  }

  private static void check(
      String test, HostTensor expected, HostTensor actual, double[] tolerance) {
    assertThat(actual.type()).as(test).isEqualTo(expected.type());
    // the reference of ONNX rounds f16 and bf16 at every step
    boolean isRounded = expected.type().dtype().bytes() < 4 && expected.type().dtype().isFloat();
    double relative = Math.max(tolerance[0], isRounded ? 2e-2 : 1e-3);
    for (long i = 0; i < expected.type().shape().elements(); i++) {
      double wanted = expected.get(i);
      double error = Math.abs(actual.get(i) - wanted);
      boolean same =
          Double.compare(actual.get(i), wanted) == 0
              || actual.get(i) == wanted
              || error <= Math.max(tolerance[1], 1e-6) + relative * Math.abs(wanted);
      assertThat(same).as("%s[%d] is %s, expected %s", test, i, actual.get(i), wanted).isTrue();
    }
  }
}
