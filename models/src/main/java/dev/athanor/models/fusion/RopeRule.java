package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Joins x · cos + concat(-x2, x1) · sin into {@code rope}, where x1 and x2 are the halves of x. The
 * tables are constants whose halves are equal. Heads before positions, as in {@code [B, H, S, D]},
 * are leading dimensions of a single head each.
 */
final class RopeRule implements Rule {

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!graph.isMap(last, "x0 + x1")) {
      return false;
    }
    var operands = Sum.operands(last);
    return joins(graph, last, operands.getFirst(), operands.getLast())
        || joins(graph, last, operands.getLast(), operands.getFirst());
  }

  private static boolean joins(Rewriter graph, Step last, Source straight, Source turned) {
    var products = new ArrayList<List<Source>>();
    for (var operand : List.of(straight, turned)) {
      graph.onlyMap(operand, "x0 * x1").ifPresent(step -> products.add(Sum.operands(step)));
    }
    for (int i = 0; products.size() == 2 && i < 4; i++) {
      var x = products.getFirst().get(i / 2);
      var cos = products.getFirst().get(1 - i / 2);
      var sin = products.getLast().get(1 - i % 2);
      if (rotated(graph, products.getLast().get(i % 2)).equals(Optional.of(x))) {
        return joins(graph, last, x, cos, sin);
      }
    }
    return false;
  }

  private static boolean joins(Rewriter graph, Step last, Source x, Source cos, Source sin) {
    var shape = x.shape();
    for (int axis = shape.rank() - 2; axis >= Math.max(0, shape.rank() - 3); axis--) {
      int at = axis;
      var tables =
          List.of(cos, sin).stream()
              .flatMap(each -> table(graph, each, shape, at).stream())
              .toList();
      if (tables.size() == 2) {
        var extents = new ArrayList<>(shape.extents());
        if (axis == shape.rank() - 2) {
          extents.add(axis + 1, 1L);
        }
        var inputs = new LinkedHashMap<String, Source>();
        inputs.put("x", new Source(x.name(), new Shape(extents)));
        inputs.put("cos", tables.getFirst());
        inputs.put("sin", tables.getLast());
        var rope = new Step("rope", inputs, Map.of(), Map.of("y", Rewriter.output(last)));
        return graph.replace(List.of(last), List.of(rope));
      }
    }
    return false;
  }

  /** Returns x if a tensor is concat(-x2, x1). */
  private static Optional<Source> rotated(Rewriter graph, Source source) {
    var concat =
        graph
            .only(source, "concat")
            .filter(step -> step.inputs().size() == 2)
            .filter(step -> Columns.isLast(step.attributes().getOrDefault("axis", 0), source));
    var high =
        concat
            .flatMap(step -> graph.onlyMap(Rewriter.input(step, "x0"), "-x"))
            .flatMap(step -> Columns.of(graph, Rewriter.input(step, "x0")));
    var low = concat.flatMap(step -> Columns.of(graph, Rewriter.input(step, "x1")));
    if (high.isEmpty() || low.isEmpty() || !high.get().of().equals(low.get().of())) {
      return Optional.empty();
    }
    var x = low.get().of();
    long half = Columns.count(x) / 2;
    return low.get().equals(new Columns(x, 0, half))
            && high.get().equals(new Columns(x, half, 2 * half))
        ? Optional.of(x)
        : Optional.empty();
  }

  /**
   * Returns the table {@code [S, D/2]} of a constant that broadcasts to x and depends on positions
   * and columns only.
   *
   * @param shape of x
   * @param axis of the positions in x
   */
  private static Optional<Source> table(Rewriter graph, Source source, Shape shape, int axis) {
    var tensor = graph.constant(source).orElse(null);
    int rank = source.shape().rank();
    int shift = shape.rank() - rank;
    long columns = shape.extent(-1);
    if (tensor == null
        || shift < 0
        || axis < shift
        || columns % 2 != 0
        || Columns.count(source) != columns
        || source.shape().extent(axis - shift) != shape.extent(axis)) {
      return Optional.empty();
    }
    long positions = shape.extent(axis);
    long inner = 1; // rows between two positions
    for (int i = axis - shift + 1; i < rank - 1; i++) {
      inner *= source.shape().extent(i);
    }
    var half = new double[Math.toIntExact(positions * columns / 2)];
    for (long i = 0; i < tensor.type().shape().elements(); i++) {
      long position = i / columns / inner % positions;
      int at = (int) (position * (columns / 2) + i % (columns / 2));
      if (i / columns / inner < positions
          && i / columns % inner == 0
          && i % columns < columns / 2) {
        half[at] = tensor.get(i);
      }
    }
    for (long i = 0; i < tensor.type().shape().elements(); i++) {
      long position = i / columns / inner % positions;
      if (half[(int) (position * (columns / 2) + i % columns % (columns / 2))] != tensor.get(i)) {
        return Optional.empty();
      }
    }
    var type = TensorType.of(tensor.type().dtype(), positions, columns / 2);
    return Optional.of(graph.weight("rope " + source + axis, () -> HostTensor.of(type, half)));
  }
}
