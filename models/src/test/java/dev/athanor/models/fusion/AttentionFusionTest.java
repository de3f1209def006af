package dev.athanor.models.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import dev.athanor.ops.Shape;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the rule of attention. */
class AttentionFusionTest {

  private static final double HIDDEN = Double.NEGATIVE_INFINITY;
  private static final int S = 5;
  private static final List<String> ATTENTION = List.of("attention");

  private final TestGraph graph = new TestGraph();
  private final Value q = graph.input("q", 2, 4, S, 8);
  private final Value k = graph.input("k", 2, 4, S, 8);
  private final Value v = graph.input("v", 2, 4, S, 6);

  private Value transposed(Value x) {
    return x.rank() == 4 ? graph.permute(x, 0, 1, 3, 2) : graph.permute(x, 0, 2, 1);
  }

  private Value scores(Value q, Value k) {
    return graph.map("x0 * x1", graph.matmul(q, transposed(k)), graph.scalar(0.5));
  }

  private Value output(Value scores, Value v) {
    return graph.matmul(graph.op("softmax", Map.of(), Map.of("x", scores)), v);
  }

  private Graph masked(Value mask) {
    return graph.fusesTo(ATTENTION, output(graph.map("x0 + x1", scores(q, k), mask), v));
  }

  private static Step attention(Graph graph) {
    return graph.steps().stream()
        .filter(step -> step.op().equals("attention"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void scaledScores() {
    var fused = graph.fusesTo(ATTENTION, output(scores(q, k), v));
    assertThat(attention(fused).attributes()).isEqualTo(Map.of("scale", 0.5));
    var rank3 = graph.input("q3", 3, S, 8);
    graph.fusesTo(
        ATTENTION, output(scores(rank3, graph.input("k3", 3, 7, 8)), graph.input("v3", 3, 7, 8)));
  }

  /** As PyTorch's scaled_dot_product_attention, with the root of the scale on q and k. */
  @Test
  void scaledQueriesAndKeys() {
    var left = graph.map("x0 * x1", q, graph.scalar(0.5));
    var right = graph.map("x0 * x1", transposed(k), graph.scalar(0.5));
    var fused = graph.fusesTo(ATTENTION, output(graph.matmul(left, right), v));
    assertThat(attention(fused).attributes()).isEqualTo(Map.of("scale", 0.25));
    var before = graph.map("x0 / x1", k, graph.scalar(4));
    graph.fusesTo(ATTENTION, output(graph.matmul(left, transposed(before)), v));
  }

  @Test
  void keysInAnyLayout() {
    var written = graph.input("written", 2, S, 4, 8);
    var scores = graph.matmul(q, graph.permute(written, 0, 2, 3, 1));
    graph.fusesTo(List.of("permute", "attention"), output(scores, v));
    var already = graph.matmul(q, graph.input("already", 2, 4, 8, S));
    graph.fusesTo(List.of("permute", "attention"), output(already, v));
    var flag = graph.op("matmul", Map.of("transposeB", true, "alpha", 0.5), Map.of("a", q, "b", k));
    assertThat(attention(graph.fusesTo(ATTENTION, output(flag, v))).attributes())
        .isEqualTo(Map.of("scale", 0.5));
  }

  private Value repeated(Value x) {
    var shape = List.of(2, 2, 2, S, 8);
    return graph
        .op("expand", Map.of("shape", shape), Map.of("x", x.reshape(2, 2, 1, S, 8)))
        .reshape(2, 4, S, 8);
  }

  @Test
  void repeatedHeads() {
    var keys = graph.input("keys", 2, 2, S, 8);
    var values = graph.input("values", 2, 2, S, 8);
    graph.fusesTo(ATTENTION, output(scores(q, repeated(keys)), repeated(values)));
    graph.fusesTo(List.of("expand", "attention"), output(scores(q, repeated(keys)), v));
    // heads that take turns are not side by side
    var turns =
        graph
            .op(
                "expand",
                Map.of("shape", List.of(2, 2, 2, S, 8)),
                Map.of("x", keys.reshape(2, 1, 2, S, 8)))
            .reshape(2, 4, S, 8);
    graph.fusesTo(
        List.of("expand", "expand", "attention"), output(scores(q, turns), repeated(values)));
  }

  @Test
  void softcap() {
    var inner = graph.map("x0 / x1", scores(q, k), graph.scalar(3));
    var capped = graph.map("x0 * x1", graph.map("tanh(x)", inner), graph.scalar(3));
    var fused = graph.fusesTo(ATTENTION, output(capped, v));
    assertThat(attention(fused).attributes()).isEqualTo(Map.of("scale", 0.5, "softcap", 3.0));
  }

  @ParameterizedTest
  @CsvSource({"-Infinity", "-3.4028234663852886E38"})
  void causalMasks(double hidden) {
    var mask = graph.mask(DType.F32, Shape.of(2, 1, S, S), (i, j) -> j > i ? hidden : 0);
    assertThat(attention(masked(mask)).attributes())
        .isEqualTo(Map.of("scale", 0.5, "causal", true));
    var choice = graph.mask(DType.BOOL, Shape.of(S, S), (i, j) -> j > i ? 0 : 1);
    var chosen = graph.map("where(x0, x1, x2)", choice, scores(q, k), graph.scalar(HIDDEN));
    var fused = graph.fusesTo(ATTENTION, output(chosen, v));
    assertThat(attention(fused).attributes()).isEqualTo(Map.of("scale", 0.5, "causal", true));
  }

  @Test
  void slidingWindows() {
    var mask = graph.mask(DType.F32, Shape.of(S, S), (i, j) -> j > i || j <= i - 3 ? HIDDEN : 0);
    assertThat(attention(masked(mask)).attributes())
        .isEqualTo(Map.of("scale", 0.5, "causal", true, "window", 3L));
  }

  /** With more keys than queries, the last query attends to all keys. */
  @Test
  void causalMasksAreAlignedAtTheEnd() {
    var keys = graph.input("keys", 2, 4, S + 2, 8);
    var values = graph.input("values", 2, 4, S + 2, 8);
    var shape = Shape.of(S, S + 2);
    var end = graph.mask(DType.F32, shape, (i, j) -> j > i + 2 ? HIDDEN : 0);
    var start = graph.mask(DType.F32, shape, (i, j) -> j > i ? HIDDEN : 0);
    var causal =
        graph.fusesTo(ATTENTION, output(graph.map("x0 + x1", scores(q, keys), end), values));
    assertThat(attention(causal).inputs()).doesNotContainKey("mask");
    var other =
        graph.fusesTo(ATTENTION, output(graph.map("x0 + x1", scores(q, keys), start), values));
    assertThat(attention(other).inputs()).containsKey("mask");
    assertThat(attention(other).attributes()).isEqualTo(Map.of("scale", 0.5));
  }

  @Test
  void otherMasksAreInputs() {
    var zeros = graph.mask(DType.F32, Shape.of(2, 1, S, S), (i, j) -> 0);
    assertThat(attention(masked(zeros)).inputs()).containsOnlyKeys("q", "k", "v");
    var bias =
        graph.mask(DType.F32, Shape.of(1, 4, S, S), (i, j) -> j > i ? HIDDEN : (double) j / 8);
    assertThat(attention(masked(bias)).inputs()).containsKey("mask");
    var given = graph.map("x0 + x1", scores(q, k), graph.input("mask", 2, 1, 1, S));
    assertThat(attention(graph.fusesTo(ATTENTION, output(given, v))).inputs()).containsKey("mask");
    var both = graph.map("x0 + x1", given, graph.input("bias", 4, S, S));
    graph.fusesTo(List.of("map", "attention"), output(both, v));
  }

  /** As PyTorch exports scaled_dot_product_attention: rows without keys are 0. */
  @Test
  void zerosInPlaceOfNan() {
    var probabilities = graph.op("softmax", Map.of(), Map.of("x", scores(q, k)));
    var test = graph.map("isnan(x)", probabilities);
    var guarded = graph.map("where(x0, x1, x2)", test, graph.scalar(0), probabilities);
    graph.fusesTo(ATTENTION, graph.matmul(guarded, v));
    var ones = graph.map("where(x0, x1, x2)", test, graph.scalar(1), probabilities);
    graph.keeps("softmax", graph.matmul(ones, v));
  }

  @Test
  void attentionThatIsReadElsewhereRemains() {
    var probabilities = graph.op("softmax", Map.of(), Map.of("x", scores(q, k)));
    graph.keeps("softmax", graph.matmul(probabilities, v), probabilities);
    var scores = scores(q, k);
    graph.keeps("softmax", output(scores, v), scores);
  }

  @Test
  void otherShapesRemain() {
    // the keys are of another batch than the queries
    var single = graph.input("single", 1, 4, S, 8);
    graph.keeps("softmax", output(scores(q, single), v));
    // the last extent of the mask broadcasts
    var column = graph.map("x0 + x1", scores(q, k), graph.input("column", 2, 1, S, 1));
    graph.keeps("softmax", output(column, v));
    // a mask of more batches than the scores have
    var one = graph.map("x0 + x1", scores(single, single), graph.input("many", 2, 1, S, S));
    graph.keeps("softmax", output(one, v));
    // a scale that the op does not have
    var negative = graph.map("-x", scores(q, k));
    graph.keeps("softmax", output(negative, v));
    // hidden scores are not those of -infinity
    var choice = graph.mask(DType.BOOL, Shape.of(S, S), (i, j) -> j > i ? 0 : 1);
    graph.keeps(
        "softmax",
        output(graph.map("where(x0, x1, x2)", choice, scores(q, k), graph.scalar(-9)), v));
  }
}
