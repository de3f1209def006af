package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Ops;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.Optional;

/** Computes small dequantized weights once, unless a product reads their integers. */
final class DequantizedRule implements Rule {

  private static final String SYMMETRIC = "x1 * f32(x0)";
  private static final String SHIFTED = "x1 * (f32(x0) - f32(x2))";

  /**
   * A product of integers and their scale.
   *
   * @param scale broadcasts to the integers
   */
  record Integers(Source values, Source scale) {}

  /** Returns the integers of 8 bits, of zero point 0, whose multiple a tensor is. */
  static Optional<Integers> integers(Rewriter graph, Source source) {
    return graph
        .stepInAnyShape(source)
        .filter(step -> step.op().equals("map") && !step.attributes().containsKey("constants"))
        .filter(step -> isScaled(graph, step))
        .filter(step -> graph.type(Rewriter.output(step)).dtype() == DType.F32)
        .map(step -> new Integers(Rewriter.input(step, "x0"), Rewriter.input(step, "x1")))
        .filter(integers -> graph.type(integers.values).dtype() == DType.I8);
  }

  private static boolean isScaled(Rewriter graph, Step step) {
    var expression = step.attributes().get("expression");
    return SYMMETRIC.equals(expression)
        || (SHIFTED.equals(expression)
            && graph
                .constant(Rewriter.input(step, "x2"))
                .filter(DequantizedRule::isZero)
                .isPresent());
  }

  private static boolean isZero(HostTensor tensor) {
    return Arrays.stream(tensor.toDoubles()).allMatch(number -> number == 0);
  }

  @Override
  public boolean apply(Rewriter graph, Step last) {
    var given = new LinkedHashMap<String, HostTensor>();
    last.inputs()
        .forEach(
            (name, source) -> graph.constant(source).ifPresent(tensor -> given.put(name, tensor)));
    if (given.size() < last.inputs().size()
        || given.values().stream().noneMatch(each -> each.type().dtype() == DType.I8)) {
      return false;
    }
    var type = graph.type(Rewriter.output(last));
    if (type.shape().elements() > GraphBuilder.MOST_FOLDED) {
      return false;
    }
    var op = Ops.find(last.op());
    var output = last.outputs().keySet().iterator().next();
    var numbers = op.reference(given, Attributes.of(op.description(), last.attributes()));
    return graph.fold(last, HostTensor.of(type, Objects.requireNonNull(numbers.get(output))));
  }
}
