package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Operators that convert elements to other dtypes. */
final class Quantization {

  static final Map<String, Operator> OPERATORS =
      Map.of(
          "Cast",
          Operator.of(node -> cast(node, node.x(0), target(node))),
          "CastLike",
          Operator.of(node -> cast(node, node.x(0), node.x(1).dtype())),
          "QuantizeLinear",
          Operator.of(Quantization::quantize),
          "DequantizeLinear",
          Operator.of(Quantization::dequantize),
          "DynamicQuantizeLinear",
          Quantization::dynamicQuantize);

  private Quantization() {}

  private static boolean isSmallFloat(DType dtype) {
    return dtype == DType.E4M3 || dtype == DType.E5M2;
  }

  private static DType target(Node node) {
    if (node.integer("to", 0) == 0) {
      throw new NotExpressible("the number of a data type in the attribute \"to\"");
    }
    return node.dtype("to", DType.F32);
  }

  private static Value cast(Node node, Value x, DType to) {
    return isSmallFloat(to)
        ? node.one("cast", Map.of("to", to.text(), "saturate", node.flag("saturate", true)), x)
        : node.cast(x, to);
  }

  /** Returns the least and the greatest integer of a quantized dtype. */
  static List<Integer> bounds(DType dtype) {
    return switch (dtype) {
      case U8 -> List.of(0, 255);
      case I8 -> List.of(-128, 127);
      case I16 -> List.of(-32768, 32767);
      default ->
          throw new NotExpressible(
              "quantized elements of the dtype %s instead of u8, i8, i16, e4m3 or e5m2"
                  .formatted(dtype.text()));
    };
  }

  private static Value quantize(Node node) {
    var x = node.x(0);
    var zero = node.input(2);
    var dtype = node.dtype("output_dtype", zero.map(Value::dtype).orElse(DType.U8));
    if (isSmallFloat(dtype)) {
      var scaled = node.map("x0 / x1", aligned(node, x, List.of(node.x(1))));
      return cast(node, scaled, dtype).reshape(x.shape().extents());
    }
    var parameters = zero.map(shift -> List.of(node.x(1), shift)).orElse(List.of(node.x(1)));
    var shift = zero.isPresent() ? " + x2" : "";
    return node.map(
            "clamp(round(x0 / x1)%s, c0, c1)".formatted(shift),
            dtype,
            bounds(dtype),
            aligned(node, x, parameters))
        .reshape(x.shape().extents());
  }

  private static Value dequantize(Node node) {
    var x = node.x(0);
    var scale = node.x(1);
    var values = isSmallFloat(x.dtype()) ? node.cast(x, DType.F32) : x;
    var zero =
        node.input(2).map(given -> isSmallFloat(x.dtype()) ? node.cast(given, DType.F32) : given);
    return node.map(
            zero.isPresent() ? "x1 * (f32(x0) - f32(x2))" : "x1 * f32(x0)",
            node.dtype("output_dtype", scale.dtype()),
            List.of(),
            aligned(node, values, zero.map(z -> List.of(scale, z)).orElse(List.of(scale))))
        .reshape(x.shape().extents());
  }

  /** Returns x and the parameters of its channels or blocks in shapes that broadcast. */
  private static Value[] aligned(Node node, Value x, List<Value> parameters) {
    int axis = x.rank() == 0 ? 0 : Math.floorMod(node.integer("axis", 1), x.rank());
    long block = node.integer("block_size", 0);
    var operands = new ArrayList<Value>();
    if (block > 0) {
      var extents = new ArrayList<>(x.shape().extents());
      extents.set(axis, -1L);
      extents.add(axis + 1, block);
      operands.add(x.reshape(extents));
      parameters.forEach(each -> operands.add(each.unsqueeze(List.of(axis + 1L))));
    } else {
      operands.add(x);
      parameters.forEach(
          each -> operands.add(each.elements() == 1 ? each.reshape() : each.along(axis, x.rank())));
    }
    return operands.toArray(Value[]::new);
  }

  private static List<Value> dynamicQuantize(Node node) {
    var x = node.x(0);
    var greatest = node.reduce("max", x, List.of(), false);
    var least = node.reduce("min", x, List.of(), false);
    var scale =
        node.map(
            "where(max(x0, 0) == min(x1, 0), 1, (max(x0, 0) - min(x1, 0)) / 255)", greatest, least);
    var zero =
        node.map("clamp(round(-min(x0, 0) / x1), 0, 255)", DType.U8, List.of(), least, scale);
    // a step of its own: ONNX rounds the quotient to f32, which decides ties
    var quotient = node.map("x0 / x1", x, scale);
    var y = node.map("clamp(round(x0) + x1, 0, 255)", DType.U8, List.of(), quotient, zero);
    return List.of(y, scale, zero);
  }
}
