package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Losses of classifiers. */
final class Losses {

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    OPERATORS.put("NegativeLogLikelihoodLoss", Operator.of(node -> likelihood(node, node.x(0))));
    OPERATORS.put("SoftmaxCrossEntropyLoss", Losses::crossEntropy);
  }

  private Losses() {}

  private static List<Value> crossEntropy(Node node) {
    var logs = Reductions.logSoftmax(node, node.x(0), List.of(1L));
    return List.of(likelihood(node, logs), logs);
  }

  /**
   * Returns the negative log-likelihood.
   *
   * @param logs the logarithms of probabilities, with classes in dimension 1
   */
  private static Value likelihood(Node node, Value logs) {
    var target = node.x(1);
    var index = target.unsqueeze(List.of(1L));
    var picked =
        node.one("gather-elements", Map.of("axis", 1L), logs, index)
            .reshape(target.shape().extents());
    var weights = weights(node, logs);
    var loss =
        weights
            .map(given -> node.map("where(x1 == 0, 0, -x0 * x1)", picked, given))
            .orElseGet(() -> node.map("-x", picked));
    return switch (node.text("reduction", "mean")) {
      case "none" -> loss;
      case "sum" -> total(node, "sum", loss);
      default ->
          weights
              .map(
                  given -> node.map("x0 / x1", total(node, "sum", loss), total(node, "sum", given)))
              .orElseGet(() -> total(node, "mean", loss));
    };
  }

  private static Value total(Node node, String kind, Value x) {
    return node.reduce(kind, x, List.of(), false);
  }

  /** Returns the weight of each target: that of its class, or 0 if it is ignored. */
  private static Optional<Value> weights(Node node, Value logs) {
    var target = node.x(1);
    var weights = node.input(2).map(given -> node.one("gather", Map.of(), given, target));
    if (!node.has("ignore_index")) {
      return weights;
    }
    return Optional.of(
        node.map(
            "where(x0 == c0, 0, x1)",
            logs.dtype(),
            List.of(node.integer("ignore_index", 0)),
            target,
            weights.orElseGet(() -> node.constant(logs.dtype(), List.of(), 1))));
  }
}
