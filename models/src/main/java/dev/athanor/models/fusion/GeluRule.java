package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Joins the formulas of {@code gelu} and silu, which are written out. */
final class GeluRule implements Rule {

  private static final double CUBIC = 0.044715;
  private static final double SIGMOID = 1.702;

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!last.op().equals("map")) {
      return false;
    }
    var product = Product.of(graph, last);
    if (product.factors().size() != 2 || !product.divisors().isEmpty()) {
      return false;
    }
    for (int i = 0; i < 2; i++) {
      var x = product.factors().get(i);
      var gate = product.factors().get(1 - i);
      var step = activation(graph, product.number(), x, gate, Rewriter.output(last));
      if (step.isPresent()) {
        return graph.replace(List.of(last), List.of(step.get()));
      }
    }
    return false;
  }

  private static Optional<Step> activation(
      Rewriter graph, double number, Source x, Source gate, String output) {
    double precision = Rewriter.precision(graph.type(x).dtype());
    var sigmoid = graph.onlyMap(gate, "sigmoid(x)").map(step -> Rewriter.input(step, "x0"));
    if (sigmoid.isPresent() && number == 1) {
      if (sigmoid.get().equals(x)) {
        return Optional.of(
            new Step("map", Map.of("x0", x), Map.of("expression", "silu(x)"), Map.of("y", output)));
      }
      return isScaled(graph, sigmoid.get(), x, SIGMOID, precision)
          ? Optional.of(gelu(x, "sigmoid", output))
          : Optional.empty();
    }
    var sum = Sum.of(graph, gate);
    if (number != 0.5 || sum.number() != 1 || sum.terms().size() != 1) {
      return Optional.empty();
    }
    var term = sum.terms().getFirst();
    boolean isErf =
        graph
            .onlyMap(term, "erf(x)")
            .filter(
                step -> isScaled(graph, Rewriter.input(step, "x0"), x, Math.sqrt(0.5), precision))
            .isPresent();
    boolean isTanh =
        graph
            .onlyMap(term, "tanh(x)")
            .filter(step -> isCubic(graph, Rewriter.input(step, "x0"), x, precision))
            .isPresent();
    return isErf || isTanh
        ? Optional.of(gelu(x, isErf ? "erf" : "tanh", output))
        : Optional.empty();
  }

  private static Step gelu(Source x, String form, String output) {
    return new Step("gelu", Map.of("x", x), Map.of("form", form), Map.of("y", output));
  }

  private static boolean isScaled(
      Rewriter graph, Source source, Source x, double scale, double precision) {
    var product = Product.of(graph, source);
    return product.isScaled()
        && product.factors().getFirst().equals(x)
        && isClose(product.number(), scale, precision);
  }

  /** Returns whether a tensor is √(2/π)·(x + 0.044715·x³). */
  private static boolean isCubic(Rewriter graph, Source source, Source x, double precision) {
    var product = Product.of(graph, source);
    if (product.factors().isEmpty()
        || !product.divisors().isEmpty()
        || !isClose(product.number(), Math.sqrt(2 / Math.PI), precision)) {
      return false;
    }
    var factors = new ArrayList<>(product.factors());
    if (factors.remove(x)) { // x·(1 + 0.044715·x²)
      return factors.size() == 1 && isPolynomial(graph, factors.getFirst(), x, 1, precision);
    }
    return factors.size() == 1 && isPolynomial(graph, factors.getFirst(), x, 0, precision);
  }

  /** Returns whether a tensor is x + 0.044715·x³, or that divided by x. */
  private static boolean isPolynomial(
      Rewriter graph, Source source, Source x, int divided, double precision) {
    var sum = Sum.of(graph, source);
    var terms = new ArrayList<>(sum.terms());
    if (sum.number() != divided || (divided == 0 && !terms.remove(x)) || terms.size() != 1) {
      return false;
    }
    var power = Product.of(graph, terms.getFirst());
    return isClose(power.number(), CUBIC, precision)
        && power.divisors().isEmpty()
        && power.factors().equals(Collections.nCopies(3 - divided, x));
  }

  private static boolean isClose(double number, double expected, double precision) {
    return Math.abs(number / expected - 1) <= precision;
  }
}
