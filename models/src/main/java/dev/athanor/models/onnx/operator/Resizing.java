package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Operators that resize images. */
final class Resizing {

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    OPERATORS.put("Resize", Operator.of(Resizing::resize));
    OPERATORS.put("Upsample", Operator.of(Resizing::upsample));
  }

  private Resizing() {}

  private static Value resize(Node node) {
    if (node.opset() < 11) {
      return upsample(node);
    }
    var coordinates = node.text("coordinate_transformation_mode", "half_pixel");
    if (coordinates.equals("tf_crop_and_resize")) {
      throw new NotExpressible("regions of interest");
    }
    var attributes =
        Map.of(
            "mode",
            node.text("mode", "nearest"),
            "coordinates",
            coordinates.replace('_', '-'),
            "rounding",
            node.text("nearest_mode", "round_prefer_floor").replace('_', '-'),
            "cubicCoefficient",
            node.number("cubic_coeff_a", -0.75),
            "antialias",
            node.flag("antialias", false),
            "excludeOutside",
            node.flag("exclude_outside", false));
    var sizes = node.integersOf(3).filter(given -> !given.isEmpty());
    if (sizes.isEmpty()) {
      return resized(node, "scales", scales(node, 2), attributes);
    }
    var policy = node.text("keep_aspect_ratio_policy", "stretch");
    return policy.equals("stretch")
        ? resized(node, "sizes", sizes.get(), attributes)
        : resized(
            node,
            "scales",
            ofAspectRatio(node, sizes.get(), policy.equals("not_larger")),
            attributes);
  }

  /** Resizes as Upsample and the first version of Resize do. */
  private static Value upsample(Node node) {
    return resized(
        node,
        "scales",
        node.opset() < 9
            ? node.numbers("scales").orElse(List.of()).stream().map(Float::doubleValue).toList()
            : scales(node, 1),
        Map.of(
            "mode",
            node.text("mode", "nearest"),
            "coordinates",
            "asymmetric",
            "rounding",
            "floor"));
  }

  private static List<Double> scales(Node node, int input) {
    return node.numbersOf(input)
        .map(given -> Arrays.stream(given).boxed().toList())
        .orElse(List.of());
  }

  private static List<Integer> axes(Node node) {
    var x = node.x(0);
    return node.integers("axes").orElseGet(() -> x.axesFrom(0)).stream().map(x::axis).toList();
  }

  /** Returns the scale, the same for all dimensions, that fits an image into sizes or over them. */
  private static List<Double> ofAspectRatio(Node node, List<Long> sizes, boolean within) {
    var extents = axes(node).stream().map(node.x(0)::extent).toList();
    requireSize(sizes, extents.size());
    var ratios =
        IntStream.range(0, extents.size()).mapToDouble(i -> (double) sizes.get(i) / extents.get(i));
    double scale = (within ? ratios.min() : ratios.max()).orElse(1);
    for (long extent : extents) {
      if (Math.floor(scale * extent) != Math.floor(scale * extent + 0.5)) {
        throw new NotExpressible("extents that are rounded up");
      }
    }
    return Collections.nCopies(extents.size(), scale);
  }

  private static void requireSize(List<?> given, int count) {
    if (given.size() != count) {
      throw new IllegalArgumentException(
          "scales or sizes are %s; there must be one for each of %d axes".formatted(given, count));
    }
  }

  /**
   * Resizes the dimensions whose extents change; the others become those of images and channels.
   *
   * @param kind sizes or scales
   * @param given for each axis
   */
  private static Value resized(
      Node node, String kind, List<? extends Number> given, Map<String, ?> attributes) {
    var x = node.x(0);
    var axes = axes(node);
    requireSize(given, axes.size());
    var changed = new TreeMap<Integer, Number>();
    for (int i = 0; i < axes.size(); i++) {
      double unchanged = kind.equals("sizes") ? x.extent(axes.get(i)) : 1;
      if (given.get(i).doubleValue() != unchanged) {
        changed.put(axes.get(i), given.get(i));
      }
    }
    if (changed.isEmpty()) {
      return x;
    }
    var others =
        IntStream.range(0, x.rank()).filter(axis -> !changed.containsKey(axis)).boxed().toList();
    var order = new ArrayList<>(others);
    order.addAll(changed.keySet());
    var outer = others.stream().map(x::extent).toList();
    var extents = new ArrayList<>(List.of(1L, Moves.product(outer)));
    changed.keySet().forEach(axis -> extents.add(x.extent(axis)));
    var all = new HashMap<String, Object>(attributes);
    all.put(kind, List.copyOf(changed.values()));
    var y = node.one("resize", all, node.permute(x, order).reshape(extents));
    var shape = new ArrayList<>(outer);
    shape.addAll(y.shape().extents().subList(2, y.rank()));
    return node.permute(
        y.reshape(shape), IntStream.range(0, x.rank()).map(order::indexOf).toArray());
  }
}
