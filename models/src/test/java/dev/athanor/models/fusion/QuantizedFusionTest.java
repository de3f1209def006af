package dev.athanor.models.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests the rules of quantized products, whose inputs are as those of DequantizeLinear. */
class QuantizedFusionTest {

  private final TestGraph graph = new TestGraph();

  private Value integers(int zero, long... extents) {
    var type = new TensorType(DType.I8, Shape.of(extents));
    var values =
        IntStream.range(0, (int) type.shape().elements())
            .mapToDouble(i -> (i * 37 + 11) % 201 - 100 + zero)
            .toArray();
    return graph.constant(HostTensor.of(type, values));
  }

  private Value dequantized(Value x, Value scale) {
    return graph.map("x1 * f32(x0)", x, scale);
  }

  private Value quantized(Value x) {
    var attributes =
        Map.of(
            "expression",
            "clamp(round(x0 / x1), c0, c1)",
            "constants",
            List.of(-128, 127),
            "outDtype",
            "i8");
    return graph.op("map", attributes, Map.of("x0", x, "x1", graph.scalar(0.02)));
  }

  private Value activations() {
    return dequantized(quantized(graph.input("x", 2, 3, 8)), graph.scalar(0.02));
  }

  @Test
  void oneScaleForEachFactor() {
    var weight = dequantized(integers(0, 8, 4), graph.scalar(0.5));
    var sum = graph.map("x0 + x1", graph.matmul(activations(), weight), graph.weight(4));
    var step = graph.fusesTo(List.of("map", "matmul-int8"), sum).steps().getLast();
    assertThat(step.inputs()).containsOnlyKeys("a", "b", "scale", "bias");
  }

  @Test
  void oneScaleForEachColumn() {
    var weight = dequantized(integers(0, 8, 4), graph.weight(1, 4));
    var product = graph.matmul(activations(), weight);
    var step = graph.fusesTo(List.of("map", "matmul-int8"), product).steps().getLast();
    assertThat(step.inputs()).containsOnlyKeys("a", "b", "aScale", "bScale");
    var rows = dequantized(integers(0, 4, 8), graph.weight(4, 1));
    var transposed =
        graph.op("matmul", Map.of("transposeB", true), Map.of("a", activations(), "b", rows));
    graph.fusesTo(List.of("map", "matmul-int8"), transposed);
  }

  /** Three products read the same activations. */
  @Test
  void sharedActivations() {
    var x = activations();
    var first = dequantized(integers(0, 8, 4), graph.scalar(0.5));
    var second = dequantized(integers(0, 8, 5), graph.scalar(0.25));
    graph.fusesTo(
        List.of("map", "matmul-int8", "matmul-int8"),
        graph.matmul(x, first),
        graph.matmul(x, second));
  }

  /** The weights of other products are computed once. */
  @Test
  void otherWeightsAreConstants() {
    var rows = dequantized(integers(0, 8, 4), graph.weight(8, 1)); // a scale of each row
    graph.fusesTo(List.of("map", "map", "matmul"), graph.matmul(activations(), rows));
    var weight = dequantized(integers(0, 8, 4), graph.scalar(0.5));
    graph.fusesTo(List.of("matmul"), graph.matmul(graph.input("floats", 3, 8), weight));
    var shifted =
        graph.map("x1 * (f32(x0) - f32(x2))", integers(3, 8, 4), graph.scalar(0.5), zero(3));
    graph.fusesTo(List.of("map", "map", "matmul"), graph.matmul(activations(), shifted));
  }

  @Test
  void zeroPointsOfZero() {
    var weight = integers(0, 8, 4);
    var zeros = graph.constant(HostTensor.zeros(TensorType.of(DType.I8, 1, 4)));
    var scale = graph.weight(1, 4);
    for (var zero : List.of(zero(0), zeros)) {
      var symmetric = graph.map("x1 * (f32(x0) - f32(x2))", weight, scale, zero);
      graph.fusesTo(List.of("map", "matmul-int8"), graph.matmul(activations(), symmetric));
    }
  }

  private Value zero(int point) {
    return graph.constant(HostTensor.of(TensorType.of(DType.I8), point));
  }
}
