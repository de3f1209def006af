package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A range of the columns of a tensor.
 *
 * @param end exclusive
 */
record Columns(Source of, long start, long end) {

  /** Returns the columns that a step copies: a slice or a part of a split. */
  static Optional<Columns> of(Rewriter graph, Source source) {
    return graph
        .step(source)
        .flatMap(step ->
            switch (step.op()) {
              case "slice" -> slice(step);
              case "split" -> split(graph, step, source);
              default -> Optional.empty();
            });
  }

  /** Returns whether an axis, which may count from the last, is the last of a tensor. */
  static boolean isLast(Object axis, Source of) {
    int rank = of.shape().rank();
    return rank > 0
        && axis instanceof Number number
        && Math.floorMod(number.intValue(), rank) == rank - 1;
  }

  static long count(Source of) {
    return of.shape().extent(-1);
  }

  private static Optional<Columns> slice(Step step) {
    var x = Rewriter.input(step, "x");
    var start = only(step, "starts");
    var end = only(step, "ends");
    if (start.isEmpty()
        || end.isEmpty()
        || !only(step, "steps").equals(Optional.of(1L))
        || !only(step, "axes").filter(axis -> isLast(axis, x)).isPresent()) {
      return Optional.empty();
    }
    return Optional.of(new Columns(x, index(start.get(), x), index(end.get(), x)));
  }

  private static long index(long given, Source x) {
    return Math.clamp(given < 0 ? given + count(x) : given, 0, count(x));
  }

  private static Optional<Long> only(Step step, String attribute) {
    return step.attributes().get(attribute) instanceof List<?> list
            && list.size() == 1
            && list.getFirst() instanceof Number number
        ? Optional.of(number.longValue())
        : Optional.empty();
  }

  private static Optional<Columns> split(Rewriter graph, Step step, Source part) {
    var x = Rewriter.input(step, "x");
    if (!isLast(step.attributes().getOrDefault("axis", 0), x)) {
      return Optional.empty();
    }
    long start = 0;
    for (int i = 0; ; i++) {
      var name = Objects.requireNonNull(step.outputs().get("y" + i));
      long extent = count(new Source(name, graph.type(name).shape()));
      if (name.equals(part.name())) {
        return Optional.of(new Columns(x, start, start + extent));
      }
      start += extent;
    }
  }
}
