package dev.athanor.models.fusion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.models.graph.Value;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the rules of norms, activations, gates, biases and maps. */
class FusionTest {

  private final TestGraph graph = new TestGraph();

  /** Returns x · 1/√(mean(x²) + epsilon). */
  private Value rms(Value x, long axis) {
    var mean = graph.mean(graph.map("f32(x0) ** f32(x1)", x, graph.scalar(2)), axis);
    var root = graph.map("sqrt(x)", graph.map("x0 + x1", mean, graph.scalar(1e-5)));
    return graph.map("x0 * x1", x, graph.map("1 / x", root));
  }

  @Test
  void rmsNormWithAndWithoutGamma() {
    var x = graph.input("x", 2, 3, 8);
    graph.fusesTo(List.of("rms-norm"), rms(x, -1));
    var gamma = graph.map("x0 * x1", graph.weight(8), rms(x, -1));
    var fused = graph.fusesTo(List.of("rms-norm"), gamma);
    assertThat(fused.steps().getFirst().inputs()).containsOnlyKeys("x", "gamma");
    assertThat(fused.steps().getFirst().attributes())
        .containsExactly(entry("epsilon", (double) 1e-5f));
  }

  /** The forms x / √… and x · rsqrt(…), with x·x. */
  @ParameterizedTest
  @CsvSource({"x0 / x1, sqrt(x)", "x0 * x1, rsqrt(x)"})
  void rmsNormInOtherForms(String product, String root) {
    var x = graph.input("x", 4, 8);
    var mean = graph.mean(graph.map("x0 * x1", x, x), -1);
    var sum = graph.map("x0 + x1", graph.scalar(1e-5), mean);
    graph.fusesTo(List.of("rms-norm"), graph.map(product, x, graph.map(root, sum)));
  }

  @Test
  void normsOfOtherAxesAndOfOtherTensorsRemain() {
    var x = graph.input("x", 2, 8, 8);
    graph.keeps("reduce", rms(x, 1));
    var other = graph.input("other", 2, 8, 8);
    var mean = graph.mean(graph.map("x0 * x1", other, other), -1);
    var root = graph.map("rsqrt(x)", graph.map("x0 + x1", mean, graph.scalar(1e-5)));
    graph.keeps("reduce", graph.map("x0 * x1", x, root));
  }

  @Test
  void readValuesOfNormsRemain() {
    var x = graph.input("x", 4, 8);
    var mean = graph.mean(graph.map("x0 * x1", x, x), -1);
    var root = graph.map("sqrt(x)", graph.map("x0 + x1", mean, graph.scalar(1e-5)));
    graph.keeps("reduce", graph.map("x0 / x1", x, root), root);
  }

  private Value layerNorm(Value x) {
    var difference = graph.map("x0 - x1", x, graph.mean(x, -1));
    return graph.map("x0 * x1", graph.weight(8), rms(difference, -1));
  }

  @Test
  void layerNormWithBeta() {
    var x = graph.input("x", 4, 8);
    graph.fusesTo(List.of("layer-norm"), layerNorm(x));
    var fused =
        graph.fusesTo(List.of("layer-norm"), graph.map("x0 + x1", layerNorm(x), graph.weight(8)));
    assertThat(fused.steps().getFirst().inputs()).containsOnlyKeys("x", "gamma", "beta");
  }

  @Test
  void residualNormsReturnTheSumIfItIsRead() {
    var sum = graph.map("x0 + x1", graph.input("x", 4, 8), graph.input("residual", 4, 8));
    var one = graph.fusesTo(List.of("residual-layer-norm"), layerNorm(sum));
    assertThat(one.steps().getFirst().outputs()).containsOnlyKeys("y");
    var gamma = graph.map("x0 * x1", rms(sum, -1), graph.weight(8));
    var two = graph.fusesTo(List.of("residual-rms-norm"), gamma, sum);
    assertThat(two.steps().getFirst().outputs()).containsOnlyKeys("y", "sum");
  }

  @Test
  void sumsThatBroadcastRemainBeforeNorms() {
    var sum = graph.map("x0 + x1", graph.input("x", 4, 8), graph.input("row", 8));
    graph.fusesTo(List.of("map", "rms-norm"), rms(sum, -1));
  }

  private Value geluErf(Value x, double root) {
    var erf = graph.map("erf(x)", graph.map("x0 / x1", x, graph.scalar(root)));
    var gate = graph.map("x0 * x1", graph.scalar(0.5), graph.map("x0 + x1", erf, graph.scalar(1)));
    return graph.map("x0 * x1", x, gate);
  }

  private Value geluTanh(Value x, double cubic) {
    var cube = graph.map("f32(x0) ** f32(x1)", x, graph.scalar(3));
    var inner = graph.map("x0 + x1", x, graph.map("x0 * x1", cube, graph.scalar(cubic)));
    var scaled = graph.map("x0 * x1", graph.scalar(Math.sqrt(2 / Math.PI)), inner);
    var gate = graph.map("x0 + x1", graph.map("tanh(x)", scaled), graph.scalar(1));
    return graph.map("x0 * x1", graph.map("x0 * x1", x, graph.scalar(0.5)), gate);
  }

  private Value geluSigmoid(Value x, double scale) {
    return graph.map(
        "x0 * x1", x, graph.map("sigmoid(x)", graph.map("x0 * x1", x, graph.scalar(scale))));
  }

  @Test
  void gelus() {
    var x = graph.input("x", 4, 8);
    assertThat(form(graph.fusesTo(List.of("gelu"), geluErf(x, Math.sqrt(2))))).isEqualTo("erf");
    assertThat(form(graph.fusesTo(List.of("gelu"), geluTanh(x, 0.044715)))).isEqualTo("tanh");
    assertThat(form(graph.fusesTo(List.of("gelu"), geluSigmoid(x, 1.702)))).isEqualTo("sigmoid");
  }

  private static Object form(Graph graph) {
    return Objects.requireNonNull(graph.steps().getFirst().attributes().get("form"));
  }

  @Test
  void functionsThatDifferFromGeluRemain() {
    var x = graph.input("x", 4, 8);
    graph.keeps("map", geluErf(x, 1.4));
    graph.keeps("map", geluTanh(x, 0.045));
    graph.keeps("map", geluSigmoid(x, 1.7));
  }

  private Value silu(Value x) {
    return graph.map("x0 * x1", x, graph.map("sigmoid(x)", x));
  }

  @Test
  void gates() {
    var x = graph.input("x", 4, 8);
    var up = graph.input("up", 4, 8);
    graph.fusesTo(List.of("swiglu"), graph.map("x0 * x1", up, silu(x)));
    var geglu = graph.fusesTo(List.of("geglu"), graph.map("x0 * x1", geluTanh(x, 0.044715), up));
    assertThat(form(geglu)).isEqualTo("tanh");
    var silu = silu(x);
    graph.keeps("map", graph.map("x0 * x1", silu, up), silu);
  }

  @ParameterizedTest
  @ValueSource(strings = {"relu", "silu", "gelu", "gelu-tanh"})
  void productsHaveBiasAndActivation(String activation) {
    var product = graph.matmul(graph.input("x", 2, 3, 8), graph.weight(8, 4));
    var sum = graph.map("x0 + x1", product, graph.weight(4));
    var y =
        switch (activation) {
          case "relu" -> graph.map("relu(x)", sum);
          case "silu" -> silu(sum);
          case "gelu" -> geluErf(sum, Math.sqrt(2));
          default -> geluTanh(sum, 0.044715);
        };
    var fused = graph.fusesTo(List.of("matmul"), y);
    assertThat(fused.steps().getFirst().inputs()).containsKey("bias");
    assertThat(fused.steps().getFirst().attributes()).containsEntry("activation", activation);
  }

  @Test
  void activationsApplyInAnotherShape() {
    var product = graph.matmul(graph.input("x", 6, 8), graph.weight(8, 4));
    var y = graph.map("relu(x)", product.reshape(2, 3, 4));
    graph.fusesTo(List.of("matmul", "map"), graph.map("x0 + x1", y, graph.scalar(1)));
    graph.fusesTo(List.of("matmul", "map"), y); // a result keeps its shape
  }

  @Test
  void readProductsKeepTheirSteps() {
    var product = graph.matmul(graph.input("x", 3, 8), graph.weight(8, 4));
    graph.fusesTo(List.of("matmul", "map"), graph.map("relu(x)", product), product);
    var column = graph.map("x0 + x1", product, graph.weight(3, 1));
    graph.fusesTo(List.of("matmul", "map"), column);
  }

  @Test
  void convolutionsHaveAnActivation() {
    var x = graph.input("x", 1, 2, 6);
    var y = graph.op("convolution", Map.of(), Map.of("x", x, "weight", graph.weight(3, 2, 3)));
    var fused = graph.fusesTo(List.of("convolution"), silu(y));
    assertThat(fused.steps().getFirst().attributes()).containsEntry("activation", "silu");
  }

  @Test
  void chainsOfMapsAreOne() {
    var x = graph.input("x", 4, 8);
    var y = graph.map("x0 - x1", graph.map("exp(x)", x), graph.input("row", 8));
    graph.fusesTo(List.of("map"), graph.map("abs(x)", y));
    graph.fusesTo(List.of("map", "map"), graph.map("abs(x)", y), y);
  }

  /** Half of the columns of a table are those of the other half. */
  private Value table(int positions, int columns, boolean equal, long... extents) {
    var values =
        IntStream.range(0, positions * columns)
            .mapToDouble(
                i -> Math.sin(i / columns + (equal ? i % columns % (columns / 2) : i % columns)))
            .toArray();
    return graph.weight(values, extents);
  }

  private Value rope(Value x, Value cos, Value sin) {
    long half = x.extent(-1) / 2;
    int axis = x.rank() - 1;
    var high = graph.map("-x", graph.slice(x, axis, half, 2 * half));
    var turned =
        graph.op(
            "concat", Map.of("axis", -1), Map.of("x0", high, "x1", graph.slice(x, axis, 0, half)));
    return graph.map("x0 + x1", graph.map("x0 * x1", x, cos), graph.map("x0 * x1", turned, sin));
  }

  @Test
  void ropeOfHeadsBeforeAndAfterPositions() {
    var table = table(5, 4, true, 1, 1, 5, 4);
    var y = rope(graph.input("x", 2, 3, 5, 4), table, table);
    var fused = graph.fusesTo(List.of("rope", "permute"), graph.permute(y, 0, 2, 1, 3));
    assertThat(fused.steps().getFirst().inputs().get("x"))
        .extracting("shape")
        .hasToString("[2, 3, 5, 1, 4]");
    var after = rope(graph.input("z", 2, 5, 3, 4), table.reshape(5, 1, 4), table.reshape(5, 1, 4));
    graph.fusesTo(List.of("rope"), after);
  }

  @Test
  void ropeOfSomeColumns() {
    var x = graph.input("x", 2, 3, 5, 6);
    var table = table(5, 4, true, 5, 4);
    var rotated = rope(graph.slice(x, 3, 0, 4), table, table);
    var y =
        graph.op("concat", Map.of("axis", 3), Map.of("x0", rotated, "x1", graph.slice(x, 3, 4, 6)));
    var fused = graph.fusesTo(List.of("rope", "permute"), graph.permute(y, 0, 2, 1, 3));
    assertThat(fused.steps().getFirst().attributes()).containsEntry("rotaryDim", 4L);
  }

  @Test
  void otherRotationsRemain() {
    var x = graph.input("x", 2, 3, 5, 4);
    var equal = table(5, 4, true, 5, 4);
    graph.keeps("concat", graph.permute(rope(x, equal, table(5, 4, false, 5, 4)), 0, 2, 1, 3));
    var heads = table(15, 4, true, 3, 5, 4); // a table of each head
    graph.keeps("concat", graph.permute(rope(x, heads, heads), 0, 2, 1, 3));
    var given = graph.input("cos", 5, 4);
    graph.keeps("concat", graph.permute(rope(x, given, given), 0, 2, 1, 3));
    var other = graph.map("x0 + x1", x, rope(graph.input("z", 2, 3, 5, 4), equal, equal));
    graph.fusesTo(List.of("rope", "map", "permute"), graph.permute(other, 0, 2, 1, 3));
  }

  /** A graph whose steps are in another order than those that read them. */
  @Test
  void stepsFollowThoseTheyRead() {
    var x = graph.input("x", 4, 8);
    var sum = graph.map("x0 + x1", x, graph.input("residual", 4, 8));
    var doubled = graph.map("x0 * x1", sum, graph.scalar(2));
    var gamma = graph.map("x0 * x1", rms(sum, -1), graph.weight(8));
    var fused = graph.fusesTo(List.of("residual-rms-norm", "map"), doubled, gamma);
    assertThat(fused.steps()).extracting(Step::op).last().isEqualTo("map");
  }
}
