package dev.athanor.ops.linear.gemv;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.ProductDescription;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of matrices and vectors of every alignment, short and long. */
final class GemvCases {

  /** M and K; long rows are split along K. */
  private static final int[][] SIZES = {
    {1, 1},
    {1, 100},
    {7, 13},
    {13, 16},
    {17, 31},
    {33, 24},
    {63, 65},
    {127, 34},
    {300, 8},
    {8, 1100},
    {3, 2049},
    {1, 4096}
  };

  private static final int[][] QUICK_SIZES = {{1, 1}, {17, 33}, {64, 48}, {5, 1100}};

  private GemvCases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    for (var dtype : List.of(DType.F64, DType.F32, DType.F16, DType.BF16)) {
      int n = 0;
      for (var size : quick ? QUICK_SIZES : SIZES) {
        for (boolean transposed : new boolean[] {false, true}) {
          var out = dtype.bytes() == 2 && n % 3 == 2 ? DType.F32 : dtype;
          var draw = new Draw(random);
          // a mean of 1: a single sum near 0 would have an unbounded relative error
          cases.add(
              make(
                  draw.normal(
                      1,
                      1,
                      TensorType.of(
                          dtype, transposed ? size[1] : size[0], transposed ? size[0] : size[1])),
                  draw.normal(1, 1, TensorType.of(dtype, size[1])),
                  transposed,
                  out,
                  ProductDescription.tolerance(dtype, size[1])));
          n++;
        }
      }
    }
    // NaN and infinities affect only their row; subnormal numbers are not flushed to zero
    for (var dtype : List.of(DType.F32, DType.F16)) {
      var draw = new Draw(random);
      cases.add(
          make(
              draw.special(dtype, 63, 1),
              draw.integers(1, 1, new TensorType(dtype, Shape.of(1))),
              false,
              dtype,
              Tolerance.exact()));
      cases.add(
          make(
              draw.special(dtype, 1, 63),
              draw.integers(1, 1, new TensorType(dtype, Shape.of(1))),
              true,
              dtype,
              Tolerance.exact()));
    }
    return cases;
  }

  private static Case make(
      HostTensor a, HostTensor x, boolean transposed, DType out, Tolerance tolerance) {
    return new Case(
        Map.of("a", a, "x", x),
        Attributes.of(
            new Gemv().description(), Map.of("transposeA", transposed, "outDtype", out.text())),
        Map.of("y", tolerance));
  }
}
