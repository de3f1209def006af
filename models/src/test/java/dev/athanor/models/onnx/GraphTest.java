package dev.athanor.models.onnx;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.athanor.models.ModelException;
import dev.athanor.models.References;
import dev.athanor.models.fusion.Fusion;
import dev.athanor.models.graph.Graph;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Tolerance;
import dev.athanor.testing.OnnxFiles;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the steps of graphs, some of which replace several nodes. */
class GraphTest {

  /** Tests of nodes whose inputs may all be inputs of a call. */
  private static final int LEAST_NODES = 700;

  static boolean compare(ModelCase test) throws InvalidProtocolBufferException {
    Graph graph;
    Map<String, HostTensor> inputs;
    Map<String, HostTensor> expected;
    try {
      var model = OnnxModel.read(test.model().toByteArray());
      inputs = test.tensors();
      graph = Fusion.of(model.graph(HostTensor.types(inputs)));
      expected = model.reference(inputs);
    } catch (ModelException e) {
      return false; // a parameter may have to be a constant
    }
    var outputs = References.run(graph, inputs);
    assertThat(outputs.keySet()).as(test.name()).isEqualTo(expected.keySet());
    expected.forEach((name, tensor) -> {
      var output = Objects.requireNonNull(outputs.get(name));
      assertThat(output.type()).as(test.name()).isEqualTo(tensor.type());
      double limit = tensor.type().dtype().bytes() < 4 ? 2e-2 : 1e-4;
      assertThat(Tolerance.maximum(limit).error(output.toDoubles(), tensor.toDoubles()))
          .as(test.name())
          .isLessThanOrEqualTo(limit);
    });
    return true;
  }

  @Test
  void stepsComputeWhatTheNodesDo() throws InvalidProtocolBufferException {
    for (var model : ModelCase.of(OnnxFiles.models())) {
      assertThat(compare(model)).as(model.name()).isTrue();
    }
    int compared = 0;
    for (var node : ModelCase.of(OnnxFiles.nodes())) {
      compared += compare(node) ? 1 : 0;
    }
    assertThat(compared).isGreaterThanOrEqualTo(LEAST_NODES);
  }

  @ParameterizedTest
  @CsvSource({
    "bert, 35, 17",
    "convnext, 38, 24",
    "deberta, 45, 29",
    "experts, 15, 13",
    "gemma2, 89, 25",
    "gpt2, 30, 16",
    "llama, 62, 21",
    "mamba, 101, 74",
    "resnet, 14, 9",
    "swin, 82, 48",
    "t5, 41, 16",
    "vit, 35, 17",
    "whisper, 43, 19"
  })
  void fusionRemovesSteps(String name, int before, int after)
      throws InvalidProtocolBufferException {
    var test =
        ModelCase.of(OnnxFiles.models()).stream()
            .filter(each -> each.name().equals(name))
            .findFirst()
            .orElseThrow();
    var model = OnnxModel.read(test.model().toByteArray());
    var graph = model.graph(HostTensor.types(test.tensors()));
    assertThat(graph.steps()).hasSize(before);
    assertThat(Fusion.of(graph).steps()).hasSize(after);
  }
}
