package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Joins softmax(scale · q·kᵀ + mask)·v into {@code attention}, with a soft cap of the scores, with
 * factors of q and k, and with heads of k and v that are repeated for several heads of q.
 */
final class AttentionRule implements Rule {

  private static final String ALPHA = "alpha";
  private static final int MOST_MASKS = 8;

  private final Mask mask = new Mask();

  /** The product q·kᵀ, scaled and capped. */
  private record Scores(Step product, double scale, double softcap) {}

  /** A tensor, scaled; the steps move its elements. */
  private record Scaled(Source source, double scale, List<Step> steps) {}

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!isProduct(last, false)) {
      return false;
    }
    var softmax = softmax(graph, Rewriter.input(last, "a")).orElse(null);
    if (softmax == null) {
      return false;
    }
    var terms = new ArrayList<Source>();
    var masks = new ArrayList<Source>();
    terms(graph, Rewriter.input(softmax, "x"), terms, masks);
    Scores scores = null;
    for (var term : terms) {
      var found = scores == null ? scores(graph, term) : Optional.<Scores>empty();
      if (found.isPresent()) {
        scores = found.get();
      } else {
        masks.add(term);
      }
    }
    return scores != null && joins(graph, last, scores, masks);
  }

  /** Returns whether a step is a matrix product without a bias and so on. */
  private static boolean isProduct(Step step, boolean transposed) {
    var plain = new LinkedHashMap<>(step.attributes());
    plain.remove("transposeA", false);
    plain.remove("transposeB", false);
    plain.remove(ALPHA, 1.0);
    if (transposed) {
      plain.remove("transposeB");
      plain.remove(ALPHA);
    }
    return step.op().equals("matmul") && step.inputs().size() == 2 && plain.isEmpty();
  }

  /** Returns the softmax; 0 in place of NaN may follow, which it returns itself. */
  private static Optional<Step> softmax(Rewriter graph, Source source) {
    var guard =
        graph
            .onlyMap(source, "where(x0, x1, x2)")
            .filter(step -> graph.scalar(Rewriter.input(step, "x1")).orElse(1) == 0)
            .flatMap(step -> {
              var x = Rewriter.input(step, "x2");
              return graph
                  .onlyMap(Rewriter.input(step, "x0"), "isnan(x)")
                  .filter(test -> Rewriter.input(test, "x0").equals(x))
                  .flatMap(_ -> graph.step(x))
                  .filter(softmax -> graph.readers(softmax) == 2);
            });
    return guard
        .or(() -> graph.only(source))
        .filter(step -> step.op().equals("softmax"))
        .filter(step ->
            Set.of(Map.of(), Map.of("scale", 1.0), Map.of("causal", false))
                .contains(step.attributes()));
  }

  /** Finds what is added before the softmax, and boolean masks, which choose -infinity. */
  private static void terms(Rewriter graph, Source source, List<Source> terms, List<Source> masks) {
    var sum = Sum.of(graph, source);
    for (var term : sum.terms()) {
      var chosen =
          graph
              .onlyMap(term, "where(x0, x1, x2)")
              .filter(step ->
                  Mask.isHidden(
                      graph.scalar(Rewriter.input(step, "x2")).orElse(0), graph.type(term).dtype()))
              .filter(_ -> sum.terms().size() == 1);
      if (chosen.isPresent() && masks.size() < MOST_MASKS) {
        masks.add(Rewriter.input(chosen.get(), "x0"));
        terms(graph, Rewriter.input(chosen.get(), "x1"), terms, masks);
      } else {
        terms.add(term);
      }
    }
  }

  private static Optional<Scores> scores(Rewriter graph, Source term) {
    var outer = Product.of(graph, term);
    if (!outer.isScaled()) {
      return Optional.empty();
    }
    var factor = outer.factors().getFirst();
    double scale = outer.number();
    double softcap = 0;
    var capped = graph.onlyMap(factor, "tanh(x)");
    if (capped.isPresent()) {
      var inner = Product.of(graph, Rewriter.input(capped.get(), "x0"));
      if (!inner.isScaled()) {
        return Optional.empty();
      }
      softcap = scale;
      scale *= inner.number();
      factor = inner.factors().getFirst();
    }
    double before = scale;
    double cap = softcap;
    return graph
        .only(factor, "matmul")
        .filter(step -> isProduct(step, true))
        .map(step -> new Scores(step, before * alpha(step), cap));
  }

  private static double alpha(Step product) {
    return product.attributes().get(ALPHA) instanceof Number number ? number.doubleValue() : 1;
  }

  private boolean joins(Rewriter graph, Step last, Scores scores, List<Source> masks) {
    var q = scaled(graph, new Scaled(Rewriter.input(scores.product, "a"), 1, List.of()));
    var k = keys(graph, scores.product);
    var v = Rewriter.input(last, "b");
    var fewer = k.steps.isEmpty() ? heads(graph, k.source) : Optional.<Source>empty();
    var fewerValues = heads(graph, v);
    boolean isShared = fewer.isPresent() && fewerValues.isPresent();
    var inputs = new LinkedHashMap<String, Source>();
    inputs.put("q", q.source);
    inputs.put("k", isShared ? fewer.get() : k.source);
    inputs.put("v", isShared ? fewerValues.get() : v);
    var attributes = new LinkedHashMap<String, Object>();
    attributes.put("scale", scores.scale * q.scale * k.scale);
    if (scores.softcap != 0) {
      attributes.put("softcap", scores.softcap);
    }
    var steps = new ArrayList<>(k.steps);
    long queries = q.source.shape().extent(-2);
    long keys = v.shape().extent(-2);
    boolean fits = mask.add(graph, masks, queries, keys, inputs, attributes, steps);
    steps.add(new Step("attention", inputs, attributes, Map.of("out", Rewriter.output(last))));
    return fits && graph.replace(List.of(last), steps);
  }

  private static Scaled scaled(Rewriter graph, Scaled before) {
    var product = Product.of(graph, before.source);
    return product.isScaled()
        ? new Scaled(product.factors().getFirst(), before.scale * product.number(), before.steps)
        : before;
  }

  /** Returns k, of which the product reads the transpose. */
  private static Scaled keys(Rewriter graph, Step product) {
    var k = scaled(graph, new Scaled(Rewriter.input(product, "b"), 1, List.of()));
    if (Boolean.TRUE.equals(product.attributes().get("transposeB"))) {
      return k;
    }
    int rank = k.source.shape().rank();
    var extents = new ArrayList<>(k.source.shape().extents());
    Collections.swap(extents, rank - 2, rank - 1);
    var shape = new Shape(extents);
    var permute =
        graph.onlyInAnyShape(k.source).filter(step -> step.op().equals("permute")).orElse(null);
    if (permute != null && isTranspose(permute, shape)) {
      var from = new Source(Rewriter.input(permute, "x").name(), shape);
      return scaled(graph, new Scaled(from, k.scale, List.of()));
    }
    var axes = new ArrayList<>(IntStream.range(0, rank).boxed().toList());
    var from = k.source;
    if (permute != null && graph.step(k.source).isPresent()) {
      from = Rewriter.input(permute, "x");
      axes = new ArrayList<>(axes(permute));
    }
    Collections.swap(axes, rank - 2, rank - 1);
    var name = graph.name();
    var step =
        new Step(
            "permute",
            Map.of("x", from),
            Map.of("axes", axes.stream().map(Integer::longValue).toList()),
            Map.of("y", name));
    return new Scaled(new Source(name, shape), k.scale, List.of(step));
  }

  private static List<Integer> axes(Step permute) {
    int rank = Rewriter.input(permute, "x").shape().rank();
    return permute.attributes().get("axes") instanceof List<?> given
        ? given.stream().map(axis -> Math.floorMod(((Number) axis).intValue(), rank)).toList()
        : IntStream.range(0, rank).map(i -> rank - 1 - i).boxed().toList();
  }

  /** Returns whether a step transposes matrices, as many as a shape has, and nothing else. */
  private static boolean isTranspose(Step permute, Shape shape) {
    var from = Rewriter.input(permute, "x").shape();
    var axes = new ArrayList<>(IntStream.range(0, from.rank()).boxed().toList());
    if (from.rank() < 2) {
      return false;
    }
    Collections.swap(axes, from.rank() - 2, from.rank() - 1);
    return axes.equals(axes(permute))
        && from.extent(-1) == shape.extent(-1)
        && from.extent(-2) == shape.extent(-2);
  }

  /** Returns the heads of which a tensor {@code [B, H, S, D]} has copies, side by side. */
  private static Optional<Source> heads(Rewriter graph, Source source) {
    var expand = graph.onlyInAnyShape(source).filter(step -> step.op().equals("expand"));
    if (expand.isEmpty() || source.shape().rank() != 4) {
      return Optional.empty();
    }
    var from = Rewriter.input(expand.get(), "x");
    var to = graph.type(source.name()).shape();
    var shape = source.shape();
    if (from.shape().rank() != 5 || to.rank() != 5 || from.shape().extent(2) != 1) {
      return Optional.empty();
    }
    var fewer = Shape.of(shape.extent(0), from.shape().extent(1), shape.extent(2), shape.extent(3));
    boolean isRepeated =
        to.extent(1) == fewer.extent(1)
            && to.extent(3) == shape.extent(2)
            && to.extent(4) == shape.extent(3)
            && from.shape().elements() == fewer.elements();
    return isRepeated ? Optional.of(new Source(from.name(), fewer)) : Optional.empty();
  }
}
