package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Pooling and its inverses. */
final class Pools {

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    OPERATORS.put("AveragePool", Operator.of(Pools::averages));
    OPERATORS.put("MaxPool", Pools::maxima);
    OPERATORS.put("LpPool", Operator.of(Pools::norms));
    OPERATORS.put("GlobalLpPool", Operator.of(Pools::norm));
    OPERATORS.put("Col2Im", Operator.of(Pools::image));
    OPERATORS.put("MaxUnpool", Operator.of(Pools::unpooled));
  }

  private Pools() {}

  private static WindowAttributes windows(Node node) {
    return WindowAttributes.of(node, node.x(0), WindowAttributes.kernel(node));
  }

  /** Returns whether counts of windows are rounded up; with automatic padding, this is moot. */
  private static boolean isCeiled(Node node) {
    return node.flag("ceil_mode", false) && !WindowAttributes.isAutomatic(node);
  }

  private static Map<String, Object> attributes(WindowAttributes windows) {
    var attributes = new HashMap<String, Object>(windows.attributes());
    attributes.put("kernel", windows.kernel());
    return attributes;
  }

  private static Value averages(Node node) {
    var attributes = attributes(windows(node));
    attributes.put("ceil", isCeiled(node));
    attributes.put("countPadding", node.flag("count_include_pad", false));
    return node.one("average-pool", attributes, node.x(0));
  }

  private static List<Value> maxima(Node node) {
    var dtype = node.x(0).dtype();
    boolean eightBits = dtype == DType.I8 || dtype == DType.U8;
    var x = eightBits ? node.cast(node.x(0), DType.F32) : node.x(0);
    var attributes = attributes(windows(node));
    attributes.put("ceil", isCeiled(node));
    if (!node.isWanted(1)) {
      return List.of(node.cast(node.one("max-pool", attributes, x), dtype));
    }
    var found = node.all("max-pool-with-indices", attributes, x);
    return List.of(node.cast(found.get(0), dtype), indices(node, x, found.get(1)));
  }

  /**
   * Returns indices in x.
   *
   * @param pixels indices in the images of x
   */
  private static Value indices(Node node, Value x, Value pixels) {
    var extents = x.shape().extents().subList(2, x.rank());
    var pixel = "x0";
    if (node.flag("storage_order", false)) { // the last dimension is the slowest
      var terms = new ArrayList<String>();
      for (int i = 0; i < extents.size(); i++) {
        long inner = Moves.product(extents.subList(i + 1, extents.size()));
        long stride = Moves.product(extents.subList(0, i));
        terms.add("x0 // %d %% %d * %d".formatted(inner, extents.get(i), stride));
      }
      pixel = String.join(" + ", terms);
    }
    var shape = new ArrayList<>(Collections.nCopies(x.rank(), 1L));
    shape.set(0, x.extent(0));
    shape.set(1, x.extent(1));
    return node.map(
        "%s + i64(x1) * c0".formatted(pixel),
        DType.I64,
        List.of(Moves.product(extents)),
        pixels,
        node.range(x.extent(0) * x.extent(1)).reshape(shape));
  }

  private static double power(Node node) {
    return node.opset() < 2 ? node.number("p", 2) : node.integer("p", 2);
  }

  /** Returns sums of powers as means times the number of elements of a window. */
  private static Value norms(Node node) {
    var windows = isCeiled(node) ? windows(node).ceiled(node.x(0)) : windows(node);
    var attributes = attributes(windows);
    attributes.put("countPadding", true);
    var means = node.one("average-pool", attributes, powers(node));
    return root(node, means, Moves.product(windows.kernel()));
  }

  private static Value norm(Node node) {
    var x = node.x(0);
    double power = power(node);
    if (power == 1 || power == 2) {
      return node.reduce(power == 1 ? "l1" : "l2", x, Reductions.spatial(x), true);
    }
    return root(node, node.reduce("sum", powers(node), Reductions.spatial(x), true), 1);
  }

  /** Returns the powers of absolute values, which may exceed 16-bit floats. */
  private static Value powers(Node node) {
    var x = node.x(0);
    double power = power(node);
    var wide = x.dtype() == DType.F64 ? "x" : "f32(x)";
    return power == 2
        ? node.map("%s * %s".formatted(wide, wide), x)
        : node.map("abs(%s) ** c0".formatted(wide), null, List.of(power), x);
  }

  private static Value root(Node node, Value means, long count) {
    var dtype = node.x(0).dtype();
    double power = power(node);
    return power == 2
        ? node.map("sqrt(x * c0)", dtype, List.of(count), means)
        : node.map("(x * c0) ** c1", dtype, List.of(count, 1 / power), means);
  }

  /** Adds columns at their positions; those in the padding have none. */
  private static Value image(Node node) {
    var x = node.x(0);
    var extents = node.integersOf(1).orElseThrow();
    var windows = WindowAttributes.explicit(node, node.integersOf(2).orElseThrow());
    if (extents.size() != windows.rank()) {
      throw new IllegalArgumentException(
          "an image of %s has no blocks of %s".formatted(extents, windows.kernel()));
    }
    long size = Moves.product(extents);
    var places = places(node, extents, windows).reshape(1, -1);
    long columns = places.elements();
    var updates = x.reshape(columns == 0 ? 0 : x.elements() / columns, columns);
    var zeros =
        Moves.expanded(
            node, node.constant(x.dtype(), List.of(), 0), List.of(updates.extent(0), size));
    var shape = new ArrayList<>(extents);
    shape.addAll(0, List.of(x.extent(0), x.extent(0) == 0 ? 0 : updates.extent(0) / x.extent(0)));
    return node.one(
            "scatter-elements",
            Map.of("axis", 1L, "reduction", "add"),
            zeros,
            Moves.expanded(node, places, updates.shape().extents()),
            updates)
        .reshape(shape);
  }

  /**
   * Returns the pixel of each tap of each window, or the number of pixels for taps in the padding.
   * The dimensions are those of the taps, then those of the windows.
   */
  private static Value places(Node node, List<Long> extents, WindowAttributes windows) {
    int rank = windows.rank();
    var index = node.constant(DType.I32, List.of(), 0);
    var inside = node.constant(DType.BOOL, List.of(), 1);
    for (int i = 0; i < rank; i++) {
      long extent = extents.get(i);
      var position =
          node.map(
              "x0 * c0 + x1 * c1 - c2",
              null,
              List.of(
                  windows.dilations().get(i), windows.strides().get(i), windows.before().get(i)),
              node.range(windows.kernel().get(i)).along(i, 2 * rank),
              node.range(windows.count(i, extent)).along(rank + i, 2 * rank));
      inside = node.map("x0 && x1 >= 0 && x1 < c0", null, List.of(extent), inside, position);
      index = node.map("x0 * c0 + x1", null, List.of(extent), index, position);
    }
    return node.map("where(x0, x1, c0)", null, List.of(Moves.product(extents)), inside, index);
  }

  private static Value unpooled(Node node) {
    var x = node.x(0);
    var windows = windows(node);
    var inferred = new ArrayList<>(x.shape().extents());
    for (int i = 0; i < windows.rank(); i++) {
      inferred.set(
          2 + i,
          (x.extent(2 + i) - 1) * windows.strides().get(i)
              + windows.kernel().get(i)
              - windows.before().get(i)
              - windows.after().get(i));
    }
    var zeros =
        Moves.expanded(
            node, node.constant(x.dtype(), List.of(), 0), List.of(Moves.product(inferred)));
    var y =
        node.one(
                "scatter-elements",
                Map.of(),
                zeros,
                node.x(1).reshape(x.elements()),
                x.reshape(x.elements()))
            .reshape(inferred);
    var wanted = node.integersOf(2).orElse(inferred);
    if (wanted.equals(inferred)) {
      return y;
    }
    if (wanted.size() != inferred.size()) {
      throw new IllegalArgumentException(
          "output_shape is %s; it must have %d extents".formatted(wanted, inferred.size()));
    }
    var after = new ArrayList<Long>();
    for (int i = 0; i < wanted.size(); i++) {
      after.add(wanted.get(i) - inferred.get(i));
    }
    return node.one("pad", Map.of("after", after), y);
  }
}
