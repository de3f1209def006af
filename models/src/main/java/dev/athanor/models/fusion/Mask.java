package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** The masks of attention. */
final class Mask {

  /** The windows of constants, which layers share. */
  private final Map<Source, OptionalLong> windows = new HashMap<>();

  /** Returns whether a bias hides a key: -infinity, or the least number of f32 or bf16. */
  static boolean isHidden(double bias, DType dtype) {
    return bias == Double.NEGATIVE_INFINITY
        || ((dtype == DType.F32 || dtype == DType.BF16) && bias <= -0x1.fep127);
  }

  /**
   * Adds masks to an attention: a constant of a causal mask or a sliding window as attributes, the
   * sum of the others as an input.
   *
   * @param keys the number of keys
   * @param steps gets those that add the masks
   * @return whether the op has inputs for them
   */
  boolean add(
      Rewriter graph,
      List<Source> masks,
      long queries,
      long keys,
      Map<String, Source> inputs,
      Map<String, Object> attributes,
      List<Step> steps) {
    var open = new ArrayList<Source>();
    for (var mask : masks) {
      var window = windows.computeIfAbsent(mask, each -> window(graph, each, queries, keys));
      if (window.isEmpty() || (window.getAsLong() > 0 && attributes.containsKey("causal"))) {
        open.add(mask);
      } else if (window.getAsLong() > 0) {
        attributes.put("causal", true);
        if (window.getAsLong() < keys) {
          attributes.put("window", window.getAsLong());
        }
      }
    }
    if (open.isEmpty()) {
      return true;
    }
    boolean isBool = open.stream().anyMatch(mask -> graph.type(mask).dtype() == DType.BOOL);
    var sum = open.getFirst();
    for (var mask : open.subList(1, open.size())) {
      var both = new Source(graph.name(), broadcast(sum.shape(), mask.shape()));
      steps.add(
          new Step(
              "map",
              Map.of("x0", sum, "x1", mask),
              Map.of("expression", isBool ? "x0 && x1" : "x0 + x1"),
              Map.of("y", both.name())));
      sum = both;
    }
    inputs.put("mask", sum);
    return !isBool || open.stream().allMatch(mask -> graph.type(mask).dtype() == DType.BOOL);
  }

  private static Shape broadcast(Shape a, Shape b) {
    int rank = Math.max(a.rank(), b.rank());
    var extents = new ArrayList<>(Collections.nCopies(rank, 1L));
    for (var shape : List.of(a, b)) {
      for (int i = 0; i < shape.rank(); i++) {
        int at = rank - shape.rank() + i;
        extents.set(at, shape.extent(i) == 1 ? extents.get(at) : shape.extent(i));
      }
    }
    return new Shape(extents);
  }

  /**
   * Returns how many keys, up to its own position, each query attends to if a constant hides the
   * others and nothing else; 0 if it hides no key.
   */
  private static OptionalLong window(Rewriter graph, Source source, long queries, long keys) {
    var mask = graph.constant(source).orElse(null);
    var shape = source.shape();
    if (mask == null || shape.elements() == 0) {
      return OptionalLong.empty();
    }
    if (hides(mask, 1, keys, keys)) {
      return OptionalLong.of(0);
    }
    int rank = shape.rank();
    if (rank < 2 || shape.extent(rank - 2) != queries || shape.extent(rank - 1) != keys) {
      return OptionalLong.empty();
    }
    long window = 0;
    while (window < keys && !isHidden(mask, keys * queries - 1 - window)) {
      window++;
    }
    return queries <= keys && window > 0 && hides(mask, queries, keys, window)
        ? OptionalLong.of(window)
        : OptionalLong.empty();
  }

  /**
   * Returns whether all rows of a mask hide the keys after the position of a query and those before
   * its window, and change no other score.
   *
   * @param queries the number of rows; 1 if all are as that of the last query
   */
  private static boolean hides(HostTensor mask, long queries, long keys, long window) {
    boolean isBool = mask.type().dtype() == DType.BOOL;
    long columns = Math.min(keys, mask.type().shape().extent(-1));
    for (long i = 0; i < mask.type().shape().elements(); i++) {
      long position = i / columns % queries + keys - queries;
      long key = i % columns;
      boolean hidden = key > position || key <= position - window;
      if (hidden != isHidden(mask, i) || (!isBool && !hidden && mask.get(i) != 0)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isHidden(HostTensor mask, long index) {
    double bias = mask.get(index);
    return mask.type().dtype() == DType.BOOL ? bias == 0 : isHidden(bias, mask.type().dtype());
  }
}
