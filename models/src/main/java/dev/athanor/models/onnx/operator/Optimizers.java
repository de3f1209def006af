package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Steps of optimizers. */
final class Optimizers {

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    OPERATORS.put("Adagrad", node -> steps(node, 1, Optimizers::adagrad));
    OPERATORS.put("Adam", node -> steps(node, 2, Optimizers::adam));
    OPERATORS.put("Momentum", node -> steps(node, 1, Optimizers::momentum));
  }

  private Optimizers() {}

  /** Returns the next parameters and states from parameters, gradients and states. */
  @FunctionalInterface
  private interface Optimizer {
    List<Value> step(Node node, List<Value> group);
  }

  /**
   * Runs a step for each group of parameters.
   *
   * @param states the number of states of each group
   */
  private static List<Value> steps(Node node, int states, Optimizer optimizer) {
    var given = node.inputs().subList(2, node.inputs().size());
    int count = given.size() / (2 + states);
    var results = new ArrayList<List<Value>>();
    for (int i = 0; i < count; i++) {
      var group = new ArrayList<Value>();
      for (int part = 0; part < 2 + states; part++) {
        group.add(given.get(part * count + i));
      }
      results.add(optimizer.step(node, group));
    }
    var outputs = new ArrayList<Value>();
    for (int part = 0; part < 1 + states; part++) {
      for (var result : results) {
        outputs.add(result.get(part));
      }
    }
    return outputs;
  }

  /** Returns the gradient with that of the regularization. */
  private static Value gradient(Node node, List<Value> group) {
    return node.map(
        "c0 * x0 + x1",
        null,
        List.of(node.number("norm_coefficient", 0)),
        group.get(0),
        group.get(1));
  }

  private static List<Value> adagrad(Node node, List<Value> group) {
    var gradient = gradient(node, group);
    var squares = node.map("x0 + x1 * x1", group.get(2), gradient);
    var x =
        node.map(
            "x0 - x3 / (1 + f32(x4) * c0) * x1 / (sqrt(x2) + c1)",
            null,
            List.of(node.number("decay_factor", 0), node.number("epsilon", 1e-6)),
            group.getFirst(),
            gradient,
            squares,
            node.x(0),
            node.x(1));
    return List.of(x, squares);
  }

  private static List<Value> adam(Node node, List<Value> group) {
    double alpha = node.number("alpha", 0.9);
    double beta = node.number("beta", 0.999);
    var gradient = gradient(node, group);
    var mean = node.map("c0 * x0 + (1 - c0) * x1", null, List.of(alpha), group.get(2), gradient);
    var squares =
        node.map("c0 * x0 + (1 - c0) * x1 * x1", null, List.of(beta), group.get(3), gradient);
    var rate = "where(x4 > 0, x3 * sqrt(1 - c1 ** f32(x4)) / (1 - c0 ** f32(x4)), x3)";
    var x =
        node.map(
            "(1 - c3) * (x0 - %s * x1 / (sqrt(x2) + c2))".formatted(rate),
            null,
            List.of(
                alpha, beta, node.number("epsilon", 1e-6), node.number("norm_coefficient_post", 0)),
            group.getFirst(),
            mean,
            squares,
            node.x(0),
            node.x(1));
    return List.of(x, mean, squares);
  }

  private static List<Value> momentum(Node node, List<Value> group) {
    double alpha = node.number("alpha", 0);
    var gradient = gradient(node, group);
    var velocity =
        node.map(
            "c0 * x0 + where(x2 > 0, c1, 1) * x1",
            null,
            List.of(alpha, node.number("beta", 0)),
            group.get(2),
            gradient,
            node.x(1));
    var x =
        node.text("mode", "").equals("standard")
            ? node.map("x0 - x1 * x2", group.getFirst(), node.x(0), velocity)
            : node.map(
                "x0 - x1 * (x3 + c0 * x2)",
                null,
                List.of(alpha),
                group.getFirst(),
                node.x(0),
                velocity,
                gradient);
    return List.of(x, velocity);
  }
}
