package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.ArrayList;
import java.util.List;

/**
 * A number times tensors, as a chain of steps computes it.
 *
 * @param factors the tensors, each as often as it occurs
 * @param divisors the tensors by which the product is divided
 */
record Product(double number, List<Source> factors, List<Source> divisors) {

  /** Maximum steps of a product; those before are factors. */
  private static final int MOST_STEPS = 32;

  /**
   * Returns the product that a step computes, which has no factors but its result if it is none.
   */
  static Product of(Rewriter graph, Step step) {
    var terms = new Terms(graph);
    if (!terms.step(step, false)) {
      terms.factors.add(graph.result(step));
    }
    return terms.product();
  }

  /** Returns the product that a tensor without other readers is; else the tensor is the factor. */
  static Product of(Rewriter graph, Source source) {
    var terms = new Terms(graph);
    terms.source(source, false);
    return terms.product();
  }

  /** Returns whether nothing is multiplied but one tensor by a number. */
  boolean isScaled() {
    return factors.size() == 1 && divisors.isEmpty();
  }

  private static final class Terms {
    private final Rewriter graph;
    private double number = 1;
    private int steps;
    private final List<Source> factors = new ArrayList<>();
    private final List<Source> divisors = new ArrayList<>();

    Terms(Rewriter graph) {
      this.graph = graph;
    }

    Product product() {
      return new Product(number, List.copyOf(factors), List.copyOf(divisors));
    }

    void source(Source source, boolean inverse) {
      var scalar = graph.scalar(source);
      var step = graph.only(source);
      if (scalar.isPresent()) {
        number *= inverse ? 1 / scalar.getAsDouble() : scalar.getAsDouble();
      } else if (step.isEmpty() || !step(step.get(), inverse)) {
        (inverse ? divisors : factors).add(source);
      }
    }

    /** Adds what a step multiplies; returns whether it does. */
    boolean step(Step step, boolean inverse) {
      if (steps++ == MOST_STEPS) {
        steps--;
        return false;
      }
      if (graph.isMap(step, "x0 * x1")) {
        source(Rewriter.input(step, "x0"), inverse);
        source(Rewriter.input(step, "x1"), inverse);
      } else if (graph.isMap(step, "x0 / x1")) {
        source(Rewriter.input(step, "x0"), inverse);
        source(Rewriter.input(step, "x1"), !inverse);
      } else if (graph.isMap(step, "1 / x")) {
        source(Rewriter.input(step, "x0"), !inverse);
      } else if (graph.isMap(step, "-x")) {
        number = -number;
        source(Rewriter.input(step, "x0"), inverse);
      } else {
        return graph.isMap(step, "f32(x0) ** f32(x1)") && power(step, inverse);
      }
      return true;
    }

    private boolean power(Step step, boolean inverse) {
      double exponent = graph.scalar(Rewriter.input(step, "x1")).orElse(0);
      if (exponent != 2 && exponent != 3) {
        return false;
      }
      for (int i = 0; i < exponent; i++) {
        // the base has one reader, but is a factor several times
        (inverse ? divisors : factors).add(Rewriter.input(step, "x0"));
      }
      return true;
    }
  }
}
