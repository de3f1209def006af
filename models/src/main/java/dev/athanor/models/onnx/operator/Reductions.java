package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Operators that reduce dimensions, and softmax. */
final class Reductions {

  /** Operators and kinds of the op reduce. */
  private static final Map<String, String> KINDS =
      Map.of(
          "ReduceSum", "sum",
          "ReduceMean", "mean",
          "ReduceMax", "max",
          "ReduceMin", "min",
          "ReduceProd", "prod",
          "ReduceL1", "l1",
          "ReduceL2", "l2",
          "ReduceSumSquare", "sum-square",
          "ReduceLogSum", "log-sum",
          "ReduceLogSumExp", "log-sum-exp");

  private static final Map<String, String> KINDS_OF_BOOLS = Map.of("max", "any", "min", "all");

  /** The reductions of a single element that change it. */
  private static final Map<String, String> OF_ONE_ELEMENT =
      Map.of("l1", "abs(x)", "l2", "abs(x)", "sum-square", "x * x", "log-sum", "log(x)");

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    KINDS.forEach((name, kind) -> OPERATORS.put(name, Operator.of(node -> reduced(node, kind))));
    OPERATORS.put("ArgMax", Operator.of(node -> position(node, "argmax")));
    OPERATORS.put("ArgMin", Operator.of(node -> position(node, "argmin")));
    OPERATORS.put("Softmax", Operator.of(Reductions::softmax));
    OPERATORS.put("LogSoftmax", Operator.of(Reductions::logSoftmax));
    OPERATORS.put("GlobalAveragePool", Operator.of(node -> pooled(node, "mean")));
    OPERATORS.put("GlobalMaxPool", Operator.of(node -> pooled(node, "max")));
  }

  private Reductions() {}

  private static Value reduced(Node node, String kind) {
    var x = node.x(0);
    var axes = Moves.axes(node).orElse(List.of());
    if (axes.isEmpty() && node.flag("noop_with_empty_axes", false)) {
      var expression = OF_ONE_ELEMENT.get(kind);
      return expression == null ? x : node.map(expression, x);
    }
    boolean bools = x.dtype() == DType.BOOL;
    if (!bools && x.elements() == 0 && (kind.equals("max") || kind.equals("min"))) {
      return ofNothing(node, kind, axes);
    }
    var of = bools ? KINDS_OF_BOOLS.getOrDefault(kind, kind) : kind;
    return node.reduce(of, x, axes, node.flag("keepdims", true));
  }

  /** Returns the extreme of no elements, which is infinite. */
  private static Value ofNothing(Node node, String kind, List<Long> axes) {
    var x = node.x(0);
    boolean greatest = kind.equals("max");
    if (!x.dtype().isFloat()) {
      throw new NotExpressible(
          "the %s of an empty %s tensor"
              .formatted(greatest ? "maximum" : "minimum", x.dtype().text()));
    }
    double extreme = greatest ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
    var extents = node.reduce("sum", x, axes, node.flag("keepdims", true)).shape().extents();
    return Moves.expanded(node, node.constant(x.dtype(), List.of(), extreme), extents);
  }

  private static Value position(Node node, String op) {
    return node.one(
        op,
        Map.of(
            "axis",
            node.integer("axis", 0),
            "keepdims",
            node.flag("keepdims", true),
            "selectLast",
            node.flag("select_last_index", false)),
        node.x(0));
  }

  /** Before version 13, softmax treats the dimensions from the axis on as one. */
  private static boolean isFlattening(Node node) {
    return node.opset() < 13;
  }

  private static int axis(Node node) {
    return node.x(0).axis(node.integer("axis", isFlattening(node) ? 1 : -1));
  }

  private static Value softmax(Node node) {
    var x = node.x(0);
    int axis = axis(node);
    var extents = x.shape().extents();
    if (isFlattening(node) || Moves.product(extents.subList(axis + 1, x.rank())) == 1) {
      return node.one("softmax", Map.of(), x.flattenFrom(axis)).reshape(extents);
    }
    var swap = Map.of("axisA", (long) axis, "axisB", -1L);
    var rows = node.one("transpose", swap, x);
    return node.one("transpose", swap, node.one("softmax", Map.of(), rows));
  }

  private static Value logSoftmax(Node node) {
    int axis = axis(node);
    return logSoftmax(
        node, node.x(0), isFlattening(node) ? node.x(0).axesFrom(axis) : List.of((long) axis));
  }

  /** Returns the logarithms of the softmax over some dimensions. */
  static Value logSoftmax(Node node, Value x, List<Long> axes) {
    return node.map("x0 - x1", x, node.reduce("log-sum-exp", x, axes, true));
  }

  private static Value pooled(Node node, String kind) {
    return node.reduce(kind, node.x(0), spatial(node.x(0)), true);
  }

  /** Returns the spatial dimensions of images. */
  static List<Long> spatial(Value x) {
    if (x.rank() < 3) {
      throw new IllegalArgumentException(
          "%s has no spatial dimensions; the shape must be [N, C, ...]".formatted(x.shape()));
    }
    return x.axesFrom(2);
  }
}
