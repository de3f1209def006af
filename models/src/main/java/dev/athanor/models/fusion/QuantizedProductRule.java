package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins the product of two dequantized tensors into {@code matmul-int8}. */
final class QuantizedProductRule implements Rule {

  @Override
  public boolean apply(Rewriter graph, Step last) {
    var attributes = new LinkedHashMap<>(last.attributes());
    var transposed = Boolean.TRUE.equals(attributes.remove("transposeB"));
    attributes.remove("transposeA", false);
    double alpha = attributes.remove("alpha") instanceof Number n ? n.doubleValue() : 1;
    if (!last.op().equals("matmul") || !attributes.isEmpty() || last.inputs().size() != 2) {
      return false;
    }
    var a = Rewriter.input(last, "a");
    var b = Rewriter.input(last, "b");
    var rows = DequantizedRule.integers(graph, a).orElse(null);
    var columns = DequantizedRule.integers(graph, b).orElse(null);
    if (rows == null
        || columns == null
        || graph.scalar(rows.scale()).isEmpty()
        || graph.constant(columns.scale()).isEmpty()
        || !columns.values().shape().equals(b.shape())
        || b.shape().rank() != 2) {
      return false;
    }
    double scale = alpha * graph.scalar(rows.scale()).getAsDouble();
    var scales = graph.constant(columns.scale()).orElseThrow();
    var inputs = new LinkedHashMap<String, Source>();
    inputs.put("a", new Source(rows.values().name(), a.shape()));
    inputs.put("b", columns.values());
    if (scales.type().shape().elements() == 1) {
      inputs.put("scale", filled(graph, scale * scales.get(0), List.of()));
    } else {
      long count = b.shape().extent(transposed ? 0 : 1);
      var shape = columns.scale().shape();
      var expected = transposed ? List.of(count, 1L) : List.of(1L, count);
      if (!shape.extents().equals(expected)) {
        return false;
      }
      inputs.put("aScale", filled(graph, scale, a.shape().leading(1).extents()));
      inputs.put("bScale", new Source(columns.scale().name(), Shape.of(count)));
    }
    var joined =
        new Step(
            "matmul-int8",
            inputs,
            transposed ? Map.of("transposeB", true) : Map.of(),
            Map.of("c", Rewriter.output(last)));
    return graph.replace(List.of(last), List.of(joined));
  }

  private static Source filled(Rewriter graph, double number, List<Long> extents) {
    var type = new TensorType(DType.F32, new Shape(extents));
    var values = new double[Math.toIntExact(type.shape().elements())];
    Arrays.fill(values, number);
    return graph.weight("%s of %s".formatted(number, type), () -> HostTensor.of(type, values));
  }
}
