package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.tile.BlockScales;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Test cases of fp8 products: each size with scales of blocks and with the others in turn. K and N
 * end within, at and beyond blocks.
 */
final class MatmulFp8Cases {

  private static final int[][] SIZES = {
    {1, 1, 1},
    {13, 7, 17},
    {17, 8, 128},
    {33, 129, 132},
    {31, 66, 260},
    {63, 257, 127},
    {130, 136, 384},
    {16, 33, 1100},
    {48, 16, 1040}
  };

  private static final int[][] QUICK_SIZES = {{17, 19, 131}, {33, 136, 256}, {16, 24, 1100}};

  private static final List<DType> FACTORS = List.of(DType.E4M3, DType.E4M3, DType.E5M2);
  private static final List<DType> OUT = List.of(DType.BF16, DType.F32, DType.F16);

  private MatmulFp8Cases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    int turn = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      cases.add(make(random, size, turn, true));
      cases.add(make(random, size, turn, false));
      turn++;
    }
    return cases;
  }

  private static Case make(RandomGenerator random, int[] size, int turn, boolean blocks) {
    var draw = new Draw(random);
    int m = size[0];
    int n = size[1];
    int k = size[2];
    var rows = m % 3 == 0 ? Shape.of(3, m / 3) : Shape.of(m);
    boolean transposeB = blocks || turn % 3 != 0;
    var out = OUT.get(turn % 3);
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("a", draw.normal(0, 1, new TensorType(FACTORS.get(turn % 3), rows.with(k))));
    var stored = transposeB ? Shape.of(n, k) : Shape.of(k, n);
    inputs.put("b", draw.normal(0, 1, new TensorType(FACTORS.get((turn + 1) % 3), stored)));
    if (blocks) {
      long alongK = Math.ceilDiv(k, BlockScales.SIZE);
      long alongN = Math.ceilDiv(n, BlockScales.SIZE);
      inputs.put("aScale", draw.uniform(0.25, 1, new TensorType(DType.F32, rows.with(alongK))));
      inputs.put("bScale", draw.uniform(0.25, 1, TensorType.of(DType.F32, alongN, alongK)));
    } else if (turn % 4 == 1) {
      inputs.put("scale", draw.uniform(0.25, 1, new TensorType(DType.F32, Shape.of())));
    } else if (turn % 4 != 3) {
      inputs.put("aScale", draw.uniform(0.25, 1, new TensorType(DType.F32, rows)));
      inputs.put("bScale", draw.uniform(-1, 1, TensorType.of(DType.F32, n)));
    }
    boolean bias = turn % 2 == 0;
    if (bias) {
      inputs.put("bias", draw.normal(0, 1, TensorType.of(turn % 4 == 0 ? out : DType.F32, n)));
    }
    var op = new MatmulFp8();
    var attributes =
        Attributes.of(
            op.description(),
            Map.of("transposeB", transposeB, "blockScales", blocks, "outDtype", out.text()));
    double limit = op.tolerance("c", out, HostTensor.types(inputs), attributes).limit();
    // a bias can cancel the product
    var tolerance = bias ? Tolerance.maximum(limit) : Tolerance.relative(limit);
    return new Case(inputs, attributes, Map.of("c", tolerance));
  }
}
