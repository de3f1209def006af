package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Convolutions. */
final class Windows {

  /** Greatest product of differences of 8-bit integers. */
  private static final long GREATEST_PRODUCT = 255 * 255;

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  static {
    OPERATORS.put(
        "Conv",
        Operator.of(node -> convolved(node, node.x(0), node.x(1), node.input(2).orElse(null))));
    OPERATORS.put("ConvTranspose", Operator.of(Windows::transposed));
    OPERATORS.put("ConvInteger", Operator.of(Windows::ofIntegers));
    OPERATORS.put("QLinearConv", Operator.of(Windows::quantized));
  }

  private Windows() {}

  private static Value convolved(Node node, Value x, Value weight, @Nullable Value bias) {
    var windows = WindowAttributes.of(node, x, kernel(node, weight));
    return node.one("convolution", attributes(node, windows), x, weight, bias);
  }

  private static Map<String, Object> attributes(Node node, WindowAttributes windows) {
    var attributes = new HashMap<String, Object>(windows.attributes());
    attributes.put("groups", node.integer("group", 1));
    return attributes;
  }

  private static List<Long> kernel(Node node, Value weight) {
    var extents = weight.shape().extents();
    var kernel = extents.subList(Math.min(2, extents.size()), extents.size());
    var given = node.integers("kernel_shape").orElse(kernel);
    if (!given.equals(kernel)) {
      throw new IllegalArgumentException(
          "attribute \"kernel_shape\" is %s, but the weights are %s"
              .formatted(given, weight.shape()));
    }
    return kernel;
  }

  private static Value transposed(Node node) {
    var x = node.x(0);
    var windows = WindowAttributes.of(node, x, kernel(node, node.x(1)));
    int rank = windows.rank();
    var more = new ArrayList<>(WindowAttributes.given(node, "output_padding", rank, 0));
    if (node.has("output_shape") || WindowAttributes.isSame(node)) {
      var before = new ArrayList<Long>();
      var after = new ArrayList<Long>();
      var wanted = outputShape(node, windows);
      for (int i = 0; i < rank; i++) {
        long full =
            (x.extent(2 + i) - 1) * windows.strides().get(i) + windows.span(i) + more.get(i);
        long padding = Math.max(0, full - wanted.get(i));
        more.set(i, more.get(i) + Math.max(0, wanted.get(i) - full));
        before.add(WindowAttributes.leading(padding, WindowAttributes.isUpper(node)));
        after.add(padding - before.getLast());
      }
      windows = windows.padded(before, after);
    }
    var attributes = attributes(node, windows);
    attributes.put("outputPadding", more);
    return node.one("convolution-transpose", attributes, x, node.x(1), node.input(2).orElse(null));
  }

  private static List<Long> outputShape(Node node, WindowAttributes windows) {
    return node.has("output_shape")
        ? WindowAttributes.given(node, "output_shape", windows.rank(), 0)
        : IntStream.range(0, windows.rank())
            .mapToObj(i -> node.x(0).extent(2 + i) * windows.strides().get(i))
            .toList();
  }

  private static Value ofIntegers(Node node) {
    var sums =
        sums(
            node,
            node.x(0),
            node.input(2).orElse(null),
            node.x(1),
            node.input(3).orElse(null),
            null);
    return node.cast(sums, DType.I32);
  }

  /** Returns the sums of a convolution of 8-bit integers in a dtype that holds them exactly. */
  private static Value sums(
      Node node,
      Value x,
      @Nullable Value zeroOfX,
      Value weight,
      @Nullable Value zeroOfWeight,
      @Nullable Value bias) {
    var extents = weight.shape().extents();
    long products = Moves.product(extents.subList(1, extents.size()));
    if (products * GREATEST_PRODUCT >= 1L << 31) {
      throw new NotExpressible("sums beyond 32 bits");
    }
    var dtype = products * GREATEST_PRODUCT < 1L << 24 ? DType.F32 : DType.F64;
    return convolved(
        node,
        difference(node, x, zeroOfX, dtype),
        difference(node, weight, zeroOfWeight, dtype),
        bias == null ? null : node.cast(bias, dtype));
  }

  /** Returns x without its zero point, which may be one for each slice of the first dimension. */
  private static Value difference(Node node, Value x, @Nullable Value zero, DType dtype) {
    if (zero == null) {
      return node.cast(x, dtype);
    }
    var along = zero.elements() == 1 ? zero.reshape() : zero.along(0, x.rank());
    return node.map("i32(x0) - i32(x1)", dtype, List.of(), x, along);
  }

  private static Value quantized(Node node) {
    var x = node.x(0);
    var weight = node.x(3);
    var to = node.x(7).dtype();
    var sums = sums(node, x, node.x(2), weight, node.x(5), node.input(8).orElse(null));
    var scaled = "round(f64(x0) * f64(x1) * f64(x2) / f64(x3)) + f64(x4)";
    return node.map(
        "clamp(%s, c0, c1)".formatted(scaled),
        to,
        to == DType.I8 ? List.of(-128, 127) : List.of(0, 255),
        sums,
        node.x(1).reshape(),
        node.x(4).along(1, x.rank()),
        node.x(6).reshape(),
        node.x(7).reshape());
  }
}
