package dev.athanor.models.onnx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.models.ModelException;
import dev.athanor.models.onnx.proto.FunctionProto;
import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.models.onnx.proto.TypeProto;
import dev.athanor.models.onnx.proto.ValueInfoProto;
import dev.athanor.ops.DType;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.OnnxFiles;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads damaged models, which are refused with a message or still are models. */
class DamagedModelTest {

  private static final int DAMAGES = 400;

  private static void use(byte[] file) {
    try {
      var model = OnnxModel.read(file);
      var types = new LinkedHashMap<String, TensorType>();
      for (var input : model.inputs()) {
        var extents =
            input.extents().stream()
                .map(extent -> extent.matches("\\d{1,3}") ? Long.parseLong(extent) : 2L)
                .toList();
        types.put(input.name(), new TensorType(input.dtype(), new Shape(extents)));
      }
      model.graph(types);
    } catch (ModelException e) {
      assertThat(e.getMessage()).isNotBlank();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"llama", "resnet", "whisper", "deberta"})
  void damagedBytesAreRefusedOrHarmless(String name) {
    var random = new SplittableRandom(TestTier.seed());
    var file = Objects.requireNonNull(OnnxFiles.models().get(name)).get("model");
    for (int i = 0; i < DAMAGES; i++) {
      var damaged = Objects.requireNonNull(file).clone();
      for (int j = 0; j <= i % 4; j++) {
        // most damages hit the nodes, which precede the weights
        int end = i % 3 == 0 ? damaged.length : damaged.length / 4;
        damaged[random.nextInt(end)] = (byte) random.nextInt(256);
      }
      use(damaged);
    }
  }

  @Test
  void damagedNodesAreRefusedOrHarmless() {
    var random = new SplittableRandom(TestTier.seed());
    for (Map<String, byte[]> files : OnnxFiles.nodes().values()) {
      var damaged = Objects.requireNonNull(files.get("model")).clone();
      damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      use(damaged);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 100, 5000})
  void shortenedFilesAreRefused(int length) {
    var file = Objects.requireNonNull(OnnxFiles.models().get("llama")).get("model");
    assertThatThrownBy(() -> OnnxModel.read(Arrays.copyOf(file, length)))
        .isInstanceOf(ModelException.Malformed.class)
        .hasMessageStartingWith("the file of %d bytes is not an ONNX model: ".formatted(length));
  }

  private static NodeProto call(String function, String input, String output) {
    return NodeProto.newBuilder()
        .setDomain("own")
        .setOpType(function)
        .addInput(input)
        .addOutput(output)
        .build();
  }

  private static FunctionProto function(String name, NodeProto... nodes) {
    return FunctionProto.newBuilder()
        .setDomain("own")
        .setName(name)
        .addInput("x")
        .addOutput("y")
        .addAllNode(List.of(nodes))
        .build();
  }

  /** Calls the first of the functions. */
  private static void calls(FunctionProto... functions) {
    var scalar = TypeProto.Tensor.newBuilder().setElemType(1);
    scalar.getShapeBuilder();
    var graph =
        GraphProto.newBuilder()
            .addNode(call(functions[0].getName(), "a", "b"))
            .addInput(
                ValueInfoProto.newBuilder()
                    .setName("a")
                    .setType(TypeProto.newBuilder().setTensorType(scalar)))
            .addOutput(ValueInfoProto.newBuilder().setName("b"));
    var model = ModelProto.newBuilder().setGraph(graph).addAllFunctions(List.of(functions)).build();
    OnnxModel.read(model.toByteArray()).graph(Map.of("a", TensorType.of(DType.F32)));
  }

  @Test
  void functionsThatCallThemselvesAreRefused() {
    assertThatThrownBy(() -> calls(function("f", call("f", "x", "y"))))
        .isInstanceOf(ModelException.Malformed.class)
        .hasMessage("functions and branches are nested more than 64 deep");
  }

  /** Each function calls the next one twice, so the nodes double with each. */
  @Test
  void functionsWithTooManyNodesAreRefused() {
    var functions = new FunctionProto[40];
    for (int i = 0; i < 39; i++) {
      var next = "f" + (i + 1);
      functions[i] = function("f" + i, call(next, "x", "z"), call(next, "z", "y"));
    }
    functions[39] =
        function(
            "f39",
            NodeProto.newBuilder().setOpType("Identity").addInput("x").addOutput("y").build());
    assertThatThrownBy(() -> calls(functions))
        .isInstanceOf(ModelException.Malformed.class)
        .hasMessage("the model has more than 131072 nodes with those of its functions");
  }
}
