package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph;
import java.util.List;

/**
 * Fuses steps of graphs. A rule applies only if nothing else reads the values that disappear; the
 * results differ by the rounding of those values.
 */
public final class Fusion {

  private Fusion() {}

  /** Returns the rules, in an order in which one finds the steps of those before it. */
  private static List<Rule> rules() {
    return List.of(
        new QuantizedProductRule(),
        new DequantizedRule(),
        new NormRule(),
        new GeluRule(),
        new RopeRule(),
        new PartialRopeRule(),
        new AttentionRule(),
        new BiasRule(),
        new GateRule(),
        new ActivationRule(),
        new ResidualNormRule(),
        new MapRule());
  }

  /** Returns a graph of the same inputs and outputs. */
  public static Graph of(Graph graph) {
    var rewriter = new Rewriter(graph);
    for (var rule : rules()) {
      // from the last: the longest match wins
      for (var step : rewriter.steps().reversed()) {
        if (rewriter.has(step)) {
          rule.apply(rewriter, step);
        }
      }
    }
    return rewriter.graph();
  }
}
