package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of products of f64, and of f32 and f64 with special values. */
final class SimtCases {

  private static final int[][] SIZES = {
    {1, 1, 1}, {7, 13, 16}, {31, 33, 17}, {63, 65, 31}, {64, 64, 32}, {100, 36, 66}
  };

  private static final int[][] QUICK_SIZES = {{13, 7, 17}, {33, 34, 36}};

  private SimtCases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    int n = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      // each size is combined with two of the four transposes
      for (int transposes : n % 4 == 0 ? new int[] {0, 3} : new int[] {1, 2}) {
        var attributes =
            Map.of(
                "transposeA",
                (transposes & 1) != 0,
                "transposeB",
                (transposes & 2) != 0,
                "alpha",
                n % 3 == 0 ? 1 : 0.1,
                "activation",
                n % 4 < 2 ? "none" : "relu");
        cases.add(
            MatmulCases.make(
                random, DType.F64, Shape.of(), Shape.of(), size, attributes, n % 2 == 1));
        n++;
      }
    }
    var batched = new int[] {5, 7, 9};
    cases.add(
        MatmulCases.make(
            random, DType.F64, Shape.of(2, 3), Shape.of(3), batched, Map.of("alpha", 3), true));
    cases.add(special(random, DType.F32));
    cases.add(special(random, DType.F64));
    return cases;
  }

  /**
   * Returns a case with NaN, infinities and subnormal numbers times 0 and 1. K is 1, so each
   * element of c is one product; NaN and infinities times 0 are NaN.
   */
  private static Case special(RandomGenerator random, DType dtype) {
    var a = new Draw(random).special(dtype, 33, 1);
    var b = new Draw(random).integers(0, 1, new TensorType(dtype, Shape.of(1, 5)));
    return new Case(
        Map.of("a", a, "b", b),
        Attributes.of(new Matmul().description(), Map.of()),
        Map.of("c", Tolerance.exact()));
  }
}
