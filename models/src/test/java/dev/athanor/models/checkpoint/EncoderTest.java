package dev.athanor.models.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.References;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Tolerance;
import java.util.LinkedHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EncoderTest {

  /** The second sequence has padding. */
  @ParameterizedTest
  @CsvSource({"bert, true", "bert-head, false", "roberta, true", "distilbert, false"})
  void outputsAreThoseOfTransformers(String name, boolean pools) {
    var checkpoint = Checkpoint.of(name);
    var model = checkpoint.model();
    var inputs = checkpoint.inputs();
    var outputs = References.run(model.graph(HostTensor.types(inputs)), inputs);
    assertThat(outputs.containsKey("pooler_output")).isEqualTo(pools);
    assertThat(outputs.keySet()).isEqualTo(checkpoint.outputs().keySet());
    outputs.forEach((output, tensor) -> {
      var expected = checkpoint.output(output);
      assertThat(tensor.type().shape()).isEqualTo(expected.type().shape());
      double limit = checkpoint.limit();
      assertThat(Tolerance.relative(limit).error(tensor.toDoubles(), expected.toDoubles()))
          .isLessThanOrEqualTo(limit);
    });
  }

  @ParameterizedTest
  @CsvSource({"bert, 34", "bert-head, 31", "roberta, 37", "distilbert, 30"})
  void layersTakeFewSteps(String name, int steps) {
    var checkpoint = Checkpoint.of(name);
    var graph = checkpoint.model().graph(HostTensor.types(checkpoint.inputs()));
    assertThat(graph.steps()).hasSize(steps);
  }

  /** Sums that nothing reads are not computed. */
  @Test
  void sumsAreNotReturned() {
    var checkpoint = Checkpoint.of("bert");
    var graph = checkpoint.model().graph(HostTensor.types(checkpoint.inputs()));
    assertThat(graph.steps())
        .filteredOn(step -> step.op().equals("residual-layer-norm"))
        .hasSize(4)
        .allSatisfy(step -> assertThat(step.outputs()).containsOnlyKeys("y"));
  }

  /** The first published checkpoints call the parameters of norms gamma and beta. */
  @Test
  void earlierNamesOfNormsAreKnown() {
    var checkpoint = Checkpoint.of("bert");
    var renamed = new LinkedHashMap<String, HostTensor>();
    checkpoint
        .tensors()
        .forEach((name, tensor) ->
            renamed.put(
                "bert."
                    + name.replace("LayerNorm.weight", "LayerNorm.gamma")
                        .replace("LayerNorm.bias", "LayerNorm.beta"),
                tensor));
    assertThat(Checkpoints.read(checkpoint.config(), renamed).weights())
        .containsExactlyElementsOf(checkpoint.model().weights());
  }
}
