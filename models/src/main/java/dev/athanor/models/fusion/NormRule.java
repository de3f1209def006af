package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Joins x / √(mean(x²) + epsilon) · gamma into {@code rms-norm}, and into {@code layer-norm} if x
 * is what differs from its mean.
 */
final class NormRule implements Rule {

  /** A divisor √(mean(x²) + epsilon). */
  private record Root(Source x, double epsilon) {}

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!last.op().equals("map")) {
      return false;
    }
    var product = Product.of(graph, last);
    var factors = new ArrayList<>(product.factors());
    var root = root(graph, product.divisors(), factors);
    if (root.isEmpty() || product.number() != 1 || !factors.remove(root.get().x)) {
      return false;
    }
    var x = root.get().x;
    var inputs = new LinkedHashMap<String, Source>();
    var centered = centered(graph, x);
    inputs.put("x", centered.orElse(x));
    if (!factors.isEmpty()) {
      long columns = x.shape().extent(-1);
      var gamma = factors.getFirst();
      if (factors.size() > 1 || !isRow(gamma, columns)) {
        return false;
      }
      inputs.put("gamma", new Source(gamma.name(), Shape.of(columns)));
    }
    var norm =
        new Step(
            centered.isPresent() ? "layer-norm" : "rms-norm",
            inputs,
            Map.of("epsilon", root.get().epsilon),
            Map.of("y", Rewriter.output(last)));
    return graph.replace(List.of(last), List.of(norm));
  }

  /** Returns whether a tensor has one element for each column and none for rows. */
  static boolean isRow(Source source, long columns) {
    var shape = source.shape();
    return shape.rank() > 0
        && shape.extent(shape.rank() - 1) == columns
        && shape.elements() == columns;
  }

  /** Finds the root among divisors, or its inverse among factors, which it removes. */
  private static Optional<Root> root(Rewriter graph, List<Source> divisors, List<Source> factors) {
    if (divisors.size() == 1) {
      return graph
          .onlyMap(divisors.getFirst(), "sqrt(x)")
          .flatMap(step -> root(graph, Rewriter.input(step, "x0")));
    }
    for (int i = 0; divisors.isEmpty() && i < factors.size(); i++) {
      var root =
          graph
              .onlyMap(factors.get(i), "rsqrt(x)")
              .flatMap(step -> root(graph, Rewriter.input(step, "x0")));
      if (root.isPresent()) {
        factors.remove(i);
        return root;
      }
    }
    return Optional.empty();
  }

  private static Optional<Root> root(Rewriter graph, Source radicand) {
    var sum = Sum.of(graph, radicand);
    if (sum.terms().size() != 1) {
      return Optional.empty();
    }
    return mean(graph, sum.terms().getFirst(), true)
        .map(squares -> Product.of(graph, squares))
        .filter(square -> square.number() == 1 && square.divisors().isEmpty())
        .filter(square -> square.factors().size() == 2)
        .filter(square -> new HashSet<>(square.factors()).size() == 1)
        .map(square -> new Root(square.factors().getFirst(), sum.number()));
  }

  /** Returns of what a tensor is the mean along the last dimension. */
  private static Optional<Source> mean(Rewriter graph, Source source, boolean only) {
    return (only ? graph.only(source) : graph.step(source))
        .filter(step -> step.op().equals("reduce"))
        .filter(step -> "mean".equals(step.attributes().get("kind")))
        .filter(step -> Boolean.TRUE.equals(step.attributes().get("keepdims")))
        .filter(step -> isLast(step))
        .map(step -> Rewriter.input(step, "x"));
  }

  private static boolean isLast(Step reduce) {
    return reduce.attributes().get("axes") instanceof List<?> axes
        && axes.size() == 1
        && Columns.isLast(axes.getFirst(), Rewriter.input(reduce, "x"));
  }

  /** Returns x if the tensor is x - mean(x). */
  private static Optional<Source> centered(Rewriter graph, Source difference) {
    return graph
        .step(difference)
        .filter(step -> graph.isMap(step, "x0 - x1"))
        .filter(step -> {
          var x = Rewriter.input(step, "x0");
          return mean(graph, Rewriter.input(step, "x1"), false).equals(Optional.of(x));
        })
        .map(step -> Rewriter.input(step, "x0"));
  }
}
