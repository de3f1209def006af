package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BinaryOperator;
import java.util.stream.IntStream;

/** Operators that are matrix products. */
final class Products {

  /** The shift from unsigned to signed bytes. */
  private static final int HALF_OF_BYTES = 128;

  /** Determinants of matrices of 1 to 3 rows, by their elements. */
  private static final List<String> DETERMINANTS =
      List.of(
          "x0",
          "x0 * x3 - x1 * x2",
          "x0 * (x4 * x8 - x5 * x7) - x1 * (x3 * x8 - x5 * x6) + x2 * (x3 * x7 - x4 * x6)");

  static final Map<String, Operator> OPERATORS =
      Map.of(
          "MatMul",
          Operator.of(node ->
              ofMatrices(node.x(0), node.x(1), (a, b) -> node.one("matmul", Map.of(), a, b))),
          "Gemm",
          Operator.of(Products::gemm),
          "Einsum",
          Operator.of(Einsum::apply),
          "DFT",
          Operator.of(Fourier::apply),
          "AffineGrid",
          Operator.of(Products::affineGrid),
          "Det",
          Operator.of(Products::determinant),
          "MatMulInteger",
          Operator.of(node -> integers(node, node.x(0), node.input(2), node.x(1), node.input(3))),
          "QLinearMatMul",
          Operator.of(Products::quantized));

  private Products() {}

  /** Multiplies values, where a vector is a row on the left and a column on the right. */
  private static Value ofMatrices(Value a, Value b, BinaryOperator<Value> product) {
    var y =
        product.apply(a.rank() == 1 ? a.reshape(1, -1) : a, b.rank() == 1 ? b.reshape(-1, 1) : b);
    var added = new ArrayList<Long>();
    if (a.rank() == 1) {
      added.add(-2L);
    }
    if (b.rank() == 1) {
      added.add(-1L);
    }
    return y.squeeze(added);
  }

  private static Value gemm(Node node) {
    var a = node.x(0);
    var b = node.x(1);
    boolean transposeB = node.flag("transB", false);
    Map<String, Object> attributes =
        Map.of(
            "transposeA", node.flag("transA", false),
            "transposeB", transposeB,
            "alpha", node.number("alpha", 1));
    double beta = node.number("beta", 1);
    var c = node.input(2).filter(_ -> beta != 0).orElse(null);
    if (c == null) {
      return node.one("matmul", attributes, a, b);
    }
    long columns = b.extent(transposeB ? 0 : 1);
    boolean isRow = c.elements() == columns && (c.rank() == 0 || c.extent(-1) == columns);
    if (isRow) {
      var bias = beta == 1 ? c : node.map("c0 * x", c.dtype(), List.of(beta), c);
      return node.one("matmul", attributes, a, b, bias.reshape(columns));
    }
    var y = node.one("matmul", attributes, a, b);
    return node.map("x0 + c0 * x1", y.dtype(), List.of(beta), y, c);
  }

  private static Value affineGrid(Node node) {
    var theta = node.x(0);
    var size = node.integersOf(1).orElseThrow();
    var extents = size.subList(2, size.size());
    int dimensions = extents.size();
    boolean corners = node.flag("align_corners", false);
    long points = Moves.product(extents);
    // homogeneous coordinates of each point, the last dimension first
    var base = new double[Math.toIntExact(points * (dimensions + 1))];
    for (int point = 0; point < points; point++) {
      int rest = point;
      for (int i = 0; i < dimensions; i++) {
        long extent = extents.get(dimensions - 1 - i);
        long index = rest % extent;
        rest = Math.toIntExact(rest / extent);
        base[point * (dimensions + 1) + i] =
            corners
                ? (extent == 1 ? -1 : 2.0 * index / (extent - 1) - 1)
                : (2.0 * index + 1) / extent - 1;
      }
      base[point * (dimensions + 1) + dimensions] = 1;
    }
    var grid = node.constant(theta.dtype(), List.of(points, dimensions + 1L), base);
    var y = node.one("matmul", Map.of("transposeB", true), grid, theta);
    var shape = new ArrayList<>(List.of(theta.extent(0)));
    shape.addAll(extents);
    shape.add((long) dimensions);
    return y.reshape(shape);
  }

  private static Value determinant(Node node) {
    var x = node.x(0);
    long rows = x.extent(-1);
    if (rows != x.extent(-2) || rows < 1 || rows > DETERMINANTS.size()) {
      throw new NotExpressible(
          "the determinant of %s instead of square matrices of 1 to %d rows"
              .formatted(x.type(), DETERMINANTS.size()));
    }
    var leading = x.shape().leading(2);
    var flat = x.reshape(leading.with(rows * rows).extents());
    var elements = node.all("split", Map.of("axis", -1L, "parts", rows * rows), flat);
    return node.map(DETERMINANTS.get((int) rows - 1), elements.toArray(Value[]::new))
        .reshape(leading.extents());
  }

  // 8-bit integers

  /** Returns the exact product, in i32, of 8-bit integers less their zero points. */
  private static Value integers(
      Node node, Value a, Optional<Value> aZero, Value b, Optional<Value> bZero) {
    for (var factor : List.of(a, b)) {
      if (factor.dtype() != DType.I8 && factor.dtype() != DType.U8) {
        throw new NotExpressible("a product of %s instead of i8 or u8".formatted(factor.type()));
      }
    }
    var aShift = aZero.map(zero -> zero.elements() > 1 ? rows(zero) : zero.reshape());
    var bShift = bZero.map(zero -> zero.elements() > 1 ? zero : zero.reshape());
    return ofMatrices(
        a,
        b,
        (left, right) ->
            right.rank() == 2
                ? signedProduct(node, left, aShift, right, bShift)
                : batchedProduct(node, left, aShift, right, bShift));
  }

  /** Returns parameters of rows as a column. */
  private static Value rows(Value parameters) {
    return parameters.rank() == 1 ? parameters.reshape(-1, 1) : parameters;
  }

  /** Multiplies signed bytes; (a - p)·(b - q) = a·b - p·(1·b - K·q) - (a·1)·q. */
  private static Value signedProduct(
      Node node, Value a, Optional<Value> aZero, Value b, Optional<Value> bZero) {
    var left = signed(node, a);
    var right = signed(node, b);
    var y = sums(node, left, right);
    var p = shift(node, a, aZero);
    var q = shift(node, b, bZero);
    long depth = b.extent(0);
    if (isZero(p) && isZero(q)) {
      return y;
    }
    if (isZero(q)) {
      return node.map("x0 - x1 * x2", y, p, sums(node, ones(node, 1, depth), right));
    }
    var rowSums = sums(node, left, ones(node, depth, 1));
    if (isZero(p)) {
      return node.map("x0 - x1 * x2", y, rowSums, q);
    }
    return node.map(
        "x0 - x1 * (x2 - c0 * x3) - x4 * x3",
        DType.I32,
        List.of(depth),
        y,
        p,
        sums(node, ones(node, 1, depth), right),
        q,
        rowSums);
  }

  private static Value sums(Node node, Value a, Value b) {
    return node.one("matmul-int8", Map.of("outDtype", DType.I32.text()), a, b);
  }

  private static Value ones(Node node, long rows, long columns) {
    var ones = new double[Math.toIntExact(rows * columns)];
    Arrays.fill(ones, 1);
    return node.constant(DType.I8, List.of(rows, columns), ones);
  }

  private static Value signed(Node node, Value x) {
    return x.dtype() == DType.I8 ? x : node.map("i32(x) - c0", DType.I8, List.of(HALF_OF_BYTES), x);
  }

  /** Returns the zero point of the signed bytes of x, in i32. */
  private static Value shift(Node node, Value x, Optional<Value> zero) {
    int unsigned = x.dtype() == DType.U8 ? HALF_OF_BYTES : 0;
    return zero.map(given -> node.map("i32(x) - c0", DType.I32, List.of(unsigned), given))
        .orElseGet(() -> node.constant(DType.I32, List.of(), -unsigned));
  }

  private static boolean isZero(Value x) {
    return x.constant()
        .map(tensor -> IntStream.range(0, (int) x.elements()).allMatch(i -> tensor.get(i) == 0))
        .orElse(false);
  }

  /** Multiplies in the narrowest dtype that represents all sums. */
  private static Value batchedProduct(
      Node node, Value a, Optional<Value> aZero, Value b, Optional<Value> bZero) {
    var dtype = 255.0 * 255 * a.extent(-1) <= 0x1p24 ? DType.F32 : DType.F64;
    var y = node.one("matmul", Map.of(), less(node, a, aZero, dtype), less(node, b, bZero, dtype));
    return node.cast(y, DType.I32);
  }

  private static Value less(Node node, Value x, Optional<Value> zero, DType dtype) {
    return zero.map(given -> node.map("i32(x0) - i32(x1)", dtype, List.of(), x, given))
        .orElseGet(() -> node.cast(x, dtype));
  }

  private static Value quantized(Node node) {
    var y = integers(node, node.x(0), Optional.of(node.x(2)), node.x(3), Optional.of(node.x(5)));
    var aScale = node.x(1).elements() > 1 ? rows(node.x(1)) : node.x(1).reshape();
    var bScale = node.x(4).elements() > 1 ? node.x(4) : node.x(4).reshape();
    var zero = node.x(7);
    return node.map(
        "clamp(round(f32(x0) * f32(x1) * f32(x2) / f32(x3)) + x4, c0, c1)",
        zero.dtype(),
        Quantization.bounds(zero.dtype()),
        y,
        aScale,
        bScale,
        node.x(6).reshape(),
        zero.reshape());
  }
}
