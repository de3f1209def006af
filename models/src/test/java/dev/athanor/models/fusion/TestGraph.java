package dev.athanor.models.fusion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.References;
import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/** Builds graphs op by op, fuses them and compares the results with those before. */
final class TestGraph {

  private static final double LIMIT = 1e-4;

  private final GraphBuilder builder = new GraphBuilder();
  private final Map<String, HostTensor> inputs = new LinkedHashMap<>();
  private final Random random = new Random(1);

  private HostTensor numbers(long... extents) {
    var type = TensorType.of(DType.F32, extents);
    return HostTensor.of(type, random.doubles(type.shape().elements(), -2, 2).toArray());
  }

  Value input(String name, long... extents) {
    var tensor = numbers(extents);
    inputs.put(name, tensor);
    return builder.input(name, tensor.type());
  }

  Value weight(long... extents) {
    return builder.constant(numbers(extents));
  }

  Value weight(double[] values, long... extents) {
    return builder.constant(HostTensor.of(TensorType.of(DType.F32, extents), values));
  }

  Value constant(HostTensor tensor) {
    return builder.constant(tensor);
  }

  Value scalar(double number) {
    return weight(new double[] {number});
  }

  Value op(String name, Map<String, ?> attributes, Map<String, Value> given) {
    return builder.run(name, given, attributes).values().iterator().next();
  }

  Value map(String expression, Value... operands) {
    var given = new LinkedHashMap<String, Value>();
    for (int i = 0; i < operands.length; i++) {
      given.put("x" + i, operands[i]);
    }
    return op("map", Map.of("expression", expression), given);
  }

  Value mean(Value x, long axis) {
    return op(
        "reduce", Map.of("kind", "mean", "axes", List.of(axis), "keepdims", true), Map.of("x", x));
  }

  Value matmul(Value a, Value b) {
    return op("matmul", Map.of(), Map.of("a", a, "b", b));
  }

  Value permute(Value x, Integer... axes) {
    return op("permute", Map.of("axes", List.of(axes)), Map.of("x", x));
  }

  Value slice(Value x, int axis, long start, long end) {
    var attributes =
        Map.of(
            "axes",
            List.of(axis),
            "starts",
            List.of(start),
            "ends",
            List.of(end),
            "steps",
            List.of(1));
    return op("slice", attributes, Map.of("x", x));
  }

  /** Returns the fused graph of some outputs after it checked the numbers and the ops. */
  Graph fusesTo(List<String> ops, Value... outputs) {
    var fused = fused(outputs);
    assertThat(fused.steps()).extracting(Step::op).containsExactlyInAnyOrderElementsOf(ops);
    return fused;
  }

  /** Checks that as many steps of an op are in the fused graph as before. */
  void keeps(String op, Value... outputs) {
    var fused = fused(outputs);
    assertThat(fused.steps()).extracting(Step::op).contains(op);
    assertThat(fused.steps())
        .extracting(Step::op)
        .doesNotContain("rms-norm", "layer-norm", "gelu", "swiglu", "geglu", "rope", "attention");
  }

  private Graph fused(Value... outputs) {
    var named = new LinkedHashMap<String, Value>();
    for (var output : outputs) {
      named.put("y" + named.size(), output);
    }
    var before = builder.build(named);
    var after = Fusion.of(before);
    var given = new LinkedHashMap<>(inputs);
    given.keySet().retainAll(before.inputs().keySet());
    var expected = References.run(before, given);
    var results = References.run(after, given);
    expected.forEach((name, tensor) -> {
      var result = Objects.requireNonNull(results.get(name));
      assertThat(result.type()).isEqualTo(tensor.type());
      assertThat(Tolerance.maximum(LIMIT).error(result.toDoubles(), tensor.toDoubles()))
          .as(name)
          .isLessThanOrEqualTo(LIMIT);
    });
    return after;
  }

  /** Returns a constant of dtype bool or f32 whose elements depend on the last two indices. */
  Value mask(DType dtype, Shape shape, Element element) {
    var values = new ArrayList<Double>();
    for (long i = 0; i < shape.elements(); i++) {
      long key = i % shape.extent(-1);
      long query = shape.rank() < 2 ? 0 : i / shape.extent(-1) % shape.extent(-2);
      values.add(element.of(query, key));
    }
    return builder.constant(
        HostTensor.of(
            new TensorType(dtype, shape),
            values.stream().mapToDouble(Double::doubleValue).toArray()));
  }

  /** A function of a query and a key. */
  interface Element {
    double of(long query, long key);
  }
}
