package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The windows of a convolution or pooling, by the names of the ops. Each list has a value for each
 * spatial dimension.
 */
record WindowAttributes(
    List<Long> kernel,
    List<Long> strides,
    List<Long> dilations,
    List<Long> before,
    List<Long> after) {

  /** Returns the attributes of a node, with the padding that it gives explicitly, or none. */
  static WindowAttributes explicit(Node node, List<Long> kernel) {
    int rank = kernel.size();
    var pads =
        isAutomatic(node) ? Collections.nCopies(2 * rank, 0L) : given(node, "pads", 2 * rank, 0);
    return new WindowAttributes(
        kernel,
        given(node, "strides", rank, 1),
        given(node, "dilations", rank, 1),
        pads.subList(0, rank),
        pads.subList(rank, 2 * rank));
  }

  /** Returns the windows on the spatial dimensions of x. */
  static WindowAttributes of(Node node, Value x, List<Long> kernel) {
    var explicit = explicit(node, kernel);
    if (kernel.size() != x.rank() - 2) {
      throw new IllegalArgumentException(
          "images of %s do not suit a kernel of %s; they must have %d dimensions"
              .formatted(x.shape(), kernel, kernel.size() + 2));
    }
    return isSame(node) ? explicit.same(x, isUpper(node)) : explicit;
  }

  /**
   * Returns an attribute that has a value for each dimension, or for each side of each.
   *
   * @param least the least value, which is also the default
   */
  static List<Long> given(Node node, String name, int count, long least) {
    var values = node.integers(name).orElseGet(() -> Collections.nCopies(count, least));
    if (values.size() != count || values.stream().anyMatch(value -> value < least)) {
      throw new IllegalArgumentException(
          "attribute \"%s\" is %s; it must have %d values of at least %d"
              .formatted(name, values, count, least));
    }
    return values;
  }

  /** Returns the extents of windows that the node must give. */
  static List<Long> kernel(Node node) {
    return node.integers("kernel_shape")
        .orElseThrow(() -> new IllegalArgumentException("attribute \"kernel_shape\" is missing"));
  }

  /** Returns whether the padding follows from the extents. */
  static boolean isAutomatic(Node node) {
    return !node.text("auto_pad", "NOTSET").equals("NOTSET");
  }

  /** Returns whether outputs have the extents of inputs, but for the stride. */
  static boolean isSame(Node node) {
    return node.text("auto_pad", "NOTSET").startsWith("SAME");
  }

  /** Returns whether the odd element of padding is after the others. */
  static boolean isUpper(Node node) {
    return node.text("auto_pad", "NOTSET").equals("SAME_UPPER");
  }

  /** Returns the part of the padding that is before the elements. */
  static long leading(long padding, boolean upper) {
    return upper ? padding / 2 : padding - padding / 2;
  }

  int rank() {
    return kernel.size();
  }

  /** Returns the elements from the first tap of a window to its last. */
  long span(int dimension) {
    return (kernel.get(dimension) - 1) * dilations.get(dimension) + 1;
  }

  private WindowAttributes same(Value x, boolean upper) {
    var before = new ArrayList<Long>();
    var after = new ArrayList<Long>();
    for (int i = 0; i < rank(); i++) {
      long stride = strides.get(i);
      long extent = x.extent(2 + i);
      long padding = Math.max(0, (Math.ceilDiv(extent, stride) - 1) * stride + span(i) - extent);
      before.add(leading(padding, upper));
      after.add(padding - before.getLast());
    }
    return padded(before, after);
  }

  /** Returns the windows with other padding. */
  WindowAttributes padded(List<Long> before, List<Long> after) {
    return new WindowAttributes(kernel, strides, dilations, before, after);
  }

  /** Returns the number of windows along a dimension with this extent. */
  long count(int dimension, long extent) {
    return Math.floorDiv(unused(dimension, extent), strides.get(dimension)) + 1;
  }

  /** Returns the elements that the first window does not cover. */
  private long unused(int dimension, long extent) {
    return before.get(dimension) + extent + after.get(dimension) - span(dimension);
  }

  /**
   * Returns the windows with as much padding after x as the last one needs if the number of windows
   * is rounded up. It begins before the end of x.
   */
  WindowAttributes ceiled(Value x) {
    var after =
        IntStream.range(0, rank())
            .mapToObj(i -> {
              long extent = x.extent(2 + i);
              long stride = strides.get(i);
              long last = Math.ceilDiv(unused(i, extent), stride) * stride;
              long end = before.get(i) + extent;
              long begin = last < end ? last : last - stride;
              return Math.max(0, begin + span(i) - end);
            })
            .toList();
    return padded(before, after);
  }

  /** Returns the attributes of convolutions. */
  Map<String, List<Long>> attributes() {
    return Map.of("strides", strides, "dilations", dilations, "before", before, "after", after);
  }
}
