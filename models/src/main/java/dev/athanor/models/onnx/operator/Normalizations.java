package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Operators that normalize, and dropout. */
final class Normalizations {

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    OPERATORS.put("LpNormalization", Operator.of(Normalizations::lp));
    OPERATORS.put("LayerNormalization", Normalizations::layer);
    OPERATORS.put("RMSNormalization", Operator.of(Normalizations::rootMeanSquare));
    OPERATORS.put("BatchNormalization", Normalizations::batch);
    OPERATORS.put("GroupNormalization", Operator.of(Normalizations::group));
    OPERATORS.put(
        "InstanceNormalization",
        Operator.of(node -> grouped(node, node.x(0).extent(1), node.x(1), node.x(2))));
    OPERATORS.put("MeanVarianceNormalization", Operator.of(Normalizations::meanVariance));
    OPERATORS.put("LRN", Operator.of(Normalizations::acrossChannels));
    OPERATORS.put("Dropout", Normalizations::dropout);
  }

  private Normalizations() {}

  private static double epsilon(Node node) {
    return node.number("epsilon", 1e-5);
  }

  private static Value lp(Node node) {
    var x = node.x(0);
    long power = node.integer("p", 2);
    if (power != 1 && power != 2) {
      throw new IllegalArgumentException(
          "attribute \"p\" is %d; it must be 1 or 2".formatted(power));
    }
    var axes = List.of(node.integer("axis", -1));
    var norm = node.reduce(power == 1 ? "l1" : "l2", x, axes, true);
    return node.map("where(x1 == 0, 0, x0 / x1)", x, norm);
  }

  private static List<Value> layer(Node node) {
    var x = node.x(0);
    int axis = x.axis(node.integer("axis", -1));
    var y =
        normalizedRows(
            node,
            "layer-norm",
            axis,
            row(node, node.x(1), axis),
            node.input(2).map(bias -> row(node, bias, axis)).orElse(null));
    if (node.outputs() == 1) {
      return List.of(y);
    }
    var wide = node.cast(x, node.dtype("stash_type", DType.F32));
    var axes = x.axesFrom(axis);
    var deviation =
        node.map(
            "rsqrt(x + c0)",
            null,
            List.of(epsilon(node)),
            node.reduce("variance", wide, axes, true));
    return List.of(y, node.reduce("mean", wide, axes, true), deviation);
  }

  private static Value rootMeanSquare(Node node) {
    int axis = node.x(0).axis(node.integer("axis", -1));
    return normalizedRows(node, "rms-norm", axis, row(node, node.x(1), axis));
  }

  /** Returns parameters, broadcast to the dimensions of x from the axis on, as a vector. */
  private static Value row(Node node, Value parameters, int axis) {
    var extents = node.x(0).shape().extents();
    var row = Moves.expanded(node, parameters, extents.subList(axis, extents.size()));
    return row.reshape(row.elements());
  }

  /** Normalizes the dimensions of x from the axis on. */
  private static Value normalizedRows(
      Node node, String op, int axis, @Nullable Value... parameters) {
    var inputs = new ArrayList<@Nullable Value>(Arrays.asList(parameters));
    inputs.addFirst(node.x(0).flattenFrom(axis));
    return node.one(op, Map.of("epsilon", epsilon(node)), inputs.toArray(Value[]::new))
        .reshape(node.x(0).shape().extents());
  }

  private static List<Value> batch(Node node) {
    var x = node.x(0);
    boolean training = node.flag("training_mode", false);
    if (node.opset() < 14 && node.isWanted(1)) {
      throw new NotExpressible("training outputs of an operator set before version 14");
    }
    if (!node.flag("spatial", true)) {
      throw new NotExpressible("statistics of each pixel (spatial = 0)");
    }
    var axes = x.axesFrom(0).stream().filter(axis -> axis != 1).toList();
    var mean = training ? node.reduce("mean", x, axes, false) : node.x(3);
    var variance = training ? node.reduce("variance", x, axes, false) : node.x(4);
    var y =
        node.map(
            "x1 * (x0 - x3) * rsqrt(x4 + c0) + x2",
            x.dtype(),
            List.of(epsilon(node)),
            x,
            node.x(1).along(1, x.rank()),
            node.x(2).along(1, x.rank()),
            mean.along(1, x.rank()),
            variance.along(1, x.rank()));
    return training
        ? List.of(y, running(node, node.x(3), mean), running(node, node.x(4), variance))
        : List.of(y);
  }

  private static Value running(Node node, Value before, Value now) {
    return node.map(
        "x0 * c0 + x1 * (1 - c0)",
        before.dtype(),
        List.of(node.number("momentum", 0.9)),
        before,
        now);
  }

  private static Value group(Node node) {
    long channels = node.x(0).extent(1);
    long groups = node.integer("num_groups", 1);
    return grouped(
        node, groups, ofChannels(node, node.x(1), channels), ofChannels(node, node.x(2), channels));
  }

  /** Returns the parameters of channels, which are those of groups before version 21. */
  private static Value ofChannels(Node node, Value parameters, long channels) {
    long count = parameters.elements();
    if (node.opset() >= 21 || count == channels || count == 0) {
      return parameters;
    }
    var extents = List.of(count, channels / count);
    return Moves.expanded(node, parameters.reshape(count, 1), extents).reshape(channels);
  }

  private static Value grouped(Node node, long groups, Value gamma, Value beta) {
    var x = node.x(0);
    var images = x.rank() > 5 ? x.flattenFrom(2) : x;
    var attributes = Map.of("groups", groups, "epsilon", epsilon(node));
    return node.one("group-norm", attributes, images, gamma, beta).reshape(x.shape().extents());
  }

  private static Value meanVariance(Node node) {
    var x = node.x(0);
    var axes = node.integers("axes").orElse(List.of(0L, 2L, 3L));
    return node.map(
        "(x0 - x1) / (x2 + 1e-9)",
        x,
        node.reduce("mean", x, axes, true),
        node.reduce("std", x, axes, true));
  }

  /** Divides by a power of the mean of the squares of neighboring channels. */
  private static Value acrossChannels(Node node) {
    var x = node.x(0);
    long size = node.integer("size", 1);
    var squares = node.map("f32(x) * f32(x)", x);
    var means =
        node.one(
            "average-pool",
            Map.of(
                "kernel",
                List.of(size, 1L),
                "before",
                List.of((size - 1) / 2, 0L),
                "after",
                List.of(size / 2, 0L),
                "countPadding",
                true),
            squares.unsqueeze(List.of(1L)).flattenFrom(3));
    return node.map(
        "x0 / (c0 + c1 * x1) ** c2",
        x.dtype(),
        List.of(node.number("bias", 1), node.number("alpha", 1e-4), node.number("beta", 0.75)),
        x,
        means.reshape(x.shape().extents()));
  }

  private static List<Value> dropout(Node node) {
    var x = node.x(0);
    if (isRandom(node)) {
      throw new NotExpressible("random numbers");
    }
    if (!node.isWanted(1)) {
      return List.of(x);
    }
    var kept = node.constant(node.opset() < 10 ? x.dtype() : DType.BOOL, List.of(), 1);
    return List.of(x, Moves.expanded(node, kept, x.shape().extents()));
  }

  private static boolean isRandom(Node node) {
    boolean training =
        node.opset() < 7
            ? !node.flag("is_test", false)
            : node.numbersOf(2).map(given -> given[0] != 0).orElse(false);
    return training
        && node.numbersOf(1).map(given -> given[0]).orElseGet(() -> node.number("ratio", 0.5)) != 0;
  }
}
