package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The operator Einsum. It multiplies the operands from left to right, each time by one matrix
 * product, or element by element if there is no label to sum over.
 *
 * @param value an operand or a product of operands
 * @param labels a character for each of its dimensions
 */
record Einsum(Value value, String labels) {

  /** The label of the last dimension of an ellipsis; those before it follow. */
  private static final char ELLIPSIS = '\uE000';

  static Value apply(Node node) {
    var sides = node.text("equation", "").replace(" ", "").split("->", -1);
    var terms = Arrays.asList(sides[0].split(",", -1));
    if (terms.size() != node.inputs().size()) {
      throw new IllegalArgumentException(
          "the equation \"%s\" has %d operands, got %d"
              .formatted(node.text("equation", ""), terms.size(), node.inputs().size()));
    }
    var operands = new ArrayList<Einsum>();
    int ellipsis = 0;
    for (int i = 0; i < terms.size(); i++) {
      var x = node.x(i);
      int unnamed = Math.max(0, x.rank() - (terms.get(i).length() - 3));
      ellipsis = terms.get(i).contains("...") ? Math.max(ellipsis, unnamed) : ellipsis;
      operands.add(new Einsum(x, named(terms.get(i), unnamed)).diagonal(node));
    }
    var result = named(sides.length > 1 ? sides[1] : implicit(sides[0]), ellipsis);
    return contracted(node, broadcast(operands), result);
  }

  private static String named(String term, int unnamed) {
    var labels = new StringBuilder();
    for (int i = unnamed - 1; i >= 0; i--) {
      labels.append((char) (ELLIPSIS + i));
    }
    return term.replace("...", labels);
  }

  /** Returns the labels that appear once, in alphabetical order. */
  private static String implicit(String terms) {
    var once =
        terms
            .chars()
            .filter(c -> Character.isLetter(c) && terms.indexOf(c) == terms.lastIndexOf(c))
            .sorted()
            .mapToObj(Character::toString)
            .collect(Collectors.joining());
    return (terms.contains("...") ? "..." : "") + once;
  }

  /** Keeps the diagonal of dimensions with the same label. */
  private Einsum diagonal(Node node) {
    if (labels.length() != value.rank()) {
      throw new IllegalArgumentException(
          "the equation gives %d labels to %s".formatted(labels.length(), value.type()));
    }
    for (int j = 0; j < value.rank(); j++) {
      int i = labels.indexOf(labels.charAt(j));
      if (i < j) {
        common(value.extent(i), value.extent(j));
        var row = node.range(value.extent(i)).along(i, value.rank());
        var column = node.range(value.extent(j)).along(j, value.rank());
        var kept = node.map("where(x1 == x2, x0, 0)", value.dtype(), List.of(), value, row, column);
        var rest = new StringBuilder(labels).deleteCharAt(j).toString();
        return new Einsum(node.reduce("sum", kept, List.of((long) j), false), rest).diagonal(node);
      }
    }
    return this;
  }

  /** Removes dimensions with the extent 1 that broadcast to those of other operands. */
  private static List<Einsum> broadcast(List<Einsum> operands) {
    var extents = new HashMap<Character, Long>();
    for (var operand : operands) {
      for (int i = 0; i < operand.labels.length(); i++) {
        extents.merge(operand.labels.charAt(i), operand.value.extent(i), Einsum::common);
      }
    }
    return operands.stream()
        .map(operand -> {
          var kept =
              filtered(
                  operand.labels, c -> operand.extent(c) == extents.getOrDefault((char) c, 1L));
          return new Einsum(operand.value.reshape(operand.extents(kept)), kept);
        })
        .toList();
  }

  /**
   * Returns the extent to which two dimensions with the same label broadcast.
   *
   * @throws IllegalArgumentException if they do not
   */
  private static long common(long one, long other) {
    if (one != other && one != 1 && other != 1) {
      throw new IllegalArgumentException(
          "a label of the equation has the extents %d and %d".formatted(one, other));
    }
    return one == 1 ? other : one;
  }

  private static Value contracted(Node node, List<Einsum> operands, String result) {
    var product = operands.getFirst();
    for (int i = 1; i < operands.size(); i++) {
      var later = operands.subList(i + 1, operands.size()).stream().map(Einsum::labels);
      product = product.times(node, operands.get(i), result + later.collect(Collectors.joining()));
    }
    return product.summed(node, result).permuted(node, result).value;
  }

  /**
   * Multiplies by another operand.
   *
   * @param needed the labels of the result and of later operands
   */
  private Einsum times(Node node, Einsum other, String needed) {
    var a = summed(node, other.labels + needed);
    var b = other.summed(node, labels + needed);
    var shared = common(a.labels, b.labels);
    var contracted = without(shared, needed);
    if (contracted.isEmpty() || !value.dtype().isFloat()) {
      var labels = a.labels + without(b.labels, a.labels);
      var y = node.map("x0 * x1", a.spread(node, labels), b.spread(node, labels));
      return new Einsum(y, labels).summed(node, needed);
    }
    var batch = common(shared, needed);
    var rows = without(a.labels, shared);
    var columns = without(b.labels, shared);
    // the innermost dimension of an operand stays innermost
    boolean transposeA = rows.indexOf(a.innermost()) >= 0;
    boolean transposeB = !columns.isEmpty() && contracted.indexOf(b.innermost()) >= 0;
    var y =
        node.one(
            "matmul",
            Map.of("transposeA", transposeA, "transposeB", transposeB),
            a.matrices(node, batch, transposeA ? contracted : rows, transposeA ? rows : contracted),
            b.matrices(
                node, batch, transposeB ? columns : contracted, transposeB ? contracted : columns));
    var extents = a.extents(batch + rows);
    extents.addAll(b.extents(columns));
    return new Einsum(y.reshape(extents), batch + rows + columns);
  }

  private static String common(String labels, String others) {
    return filtered(labels, c -> others.indexOf(c) >= 0);
  }

  private static String without(String labels, String others) {
    return filtered(labels, c -> others.indexOf(c) < 0);
  }

  private static String filtered(String labels, IntPredicate kept) {
    return labels.chars().filter(kept).mapToObj(Character::toString).collect(Collectors.joining());
  }

  private long extent(int label) {
    return value.extent(labels.indexOf(label));
  }

  private List<Long> extents(String some) {
    return some.chars().mapToObj(this::extent).collect(Collectors.toCollection(ArrayList::new));
  }

  /** Sums over the dimensions that are not needed. */
  private Einsum summed(Node node, String needed) {
    var kept = common(labels, needed);
    var axes =
        IntStream.range(0, labels.length())
            .filter(i -> needed.indexOf(labels.charAt(i)) < 0)
            .asLongStream()
            .boxed()
            .toList();
    return axes.isEmpty() ? this : new Einsum(node.reduce("sum", value, axes, false), kept);
  }

  private Einsum permuted(Node node, String order) {
    var axes = order.chars().mapToObj(labels::indexOf).toList();
    return new Einsum(node.permute(value, axes), order);
  }

  private char innermost() {
    return labels.charAt(labels.length() - 1);
  }

  /** Returns the value as a batch of matrices. */
  private Value matrices(Node node, String batch, String rows, String columns) {
    var extents = extents(batch);
    extents.add(Moves.product(extents(rows)));
    extents.add(Moves.product(extents(columns)));
    return permuted(node, batch + rows + columns).value.reshape(extents);
  }

  /** Returns the value in a shape that broadcasts along the given dimensions. */
  private Value spread(Node node, String all) {
    var own = permuted(node, common(all, labels)).value;
    var extents = all.chars().mapToObj(c -> labels.indexOf(c) < 0 ? 1L : extent(c)).toList();
    return own.reshape(extents);
  }
}
