package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.linear.ProductDescription;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of gradients of products: every dtype and transpose, single and batched. */
final class MatmulBackwardCases {

  /** M, N, K for each combination of transposes. */
  private static final int[][] SIZES = {{17, 13, 31}, {33, 1, 24}, {32, 32, 32}, {1, 65, 7}};

  private static final int[] QUICK_SIZE = {17, 13, 31};

  private MatmulBackwardCases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    for (var dtype : List.of(DType.F64, DType.F32, DType.F16, DType.BF16)) {
      for (int transposes = 0; transposes < 4; transposes++) {
        var size = quick ? QUICK_SIZE : SIZES[transposes];
        boolean transposeA = (transposes & 1) != 0;
        boolean transposeB = (transposes & 2) != 0;
        cases.add(make(random, dtype, Shape.of(), Shape.of(), size, transposeA, transposeB));
      }
      var small = new int[] {5, 7, 9};
      cases.add(make(random, dtype, Shape.of(2, 2), Shape.of(2, 2), small, true, false));
      cases.add(make(random, dtype, Shape.of(3, 2), Shape.of(), small, false, false));
      cases.add(make(random, dtype, Shape.of(3), Shape.of(1), small, false, true));
    }
    return cases;
  }

  private static Case make(
      RandomGenerator random,
      DType dtype,
      Shape batchA,
      Shape batchB,
      int[] size,
      boolean transposeA,
      boolean transposeB) {
    int m = size[0];
    int n = size[1];
    int k = size[2];
    var draw = new Draw(random);
    long rows = batchA.elements() / batchB.elements() * m;
    return new Case(
        Map.of(
            "grad", draw.normal(0, 1, new TensorType(dtype, batchA.with(m, n))),
            "a",
                draw.normal(
                    0,
                    1,
                    new TensorType(dtype, transposeA ? batchA.with(k, m) : batchA.with(m, k))),
            "b",
                draw.normal(
                    0,
                    1,
                    new TensorType(dtype, transposeB ? batchB.with(n, k) : batchB.with(k, n)))),
        Attributes.of(
            new MatmulBackward().description(),
            Map.of("transposeA", transposeA, "transposeB", transposeB)),
        Map.of(
            "da", ProductDescription.tolerance(dtype, n),
            "db", ProductDescription.tolerance(dtype, (int) rows)));
  }
}
