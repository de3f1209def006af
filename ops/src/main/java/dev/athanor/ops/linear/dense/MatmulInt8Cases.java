package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Test cases of int8 products: sizes with scales and dtypes in turn, all alignments, extreme
 * values, and linear layers.
 */
final class MatmulInt8Cases {

  private static final int[][] SIZES = {
    {1, 1, 1},
    {13, 7, 17},
    {16, 13, 32},
    {17, 8, 32},
    {33, 32, 64},
    {31, 66, 36},
    {63, 31, 100},
    {65, 130, 31},
    {16, 33, 600},
    {24, 16, 528}
  };

  private static final int[][] QUICK_SIZES = {{17, 19, 31}, {33, 72, 64}, {16, 24, 600}};

  private static final List<String> OUT = List.of("f32", "i32", "f16");

  private MatmulInt8Cases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    int turn = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      cases.add(random(random, size, OUT.get(turn % OUT.size()), turn / 2));
      turn++;
    }
    int layer = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      cases.add(layer(random, size, layer));
      layer++;
    }
    if (!quick) {
      for (int least : new int[] {-128, 127}) {
        for (int other : new int[] {-128, 127}) {
          cases.add(constant(least, other));
        }
      }
    }
    return cases;
  }

  /** Returns the leading extents of a; multiples of three are split. */
  private static Shape rows(int m) {
    return m % 3 == 0 ? Shape.of(3, m / 3) : Shape.of(m);
  }

  private static Case random(RandomGenerator random, int[] size, String out, int turn) {
    var draw = new Draw(random);
    var inputs = new HashMap<String, HostTensor>();
    inputs.put(
        "a", draw.integers(-128, 127, new TensorType(DType.I8, rows(size[0]).with(size[2]))));
    inputs.put("b", draw.integers(-128, 127, TensorType.of(DType.I8, size[2], size[1])));
    if (!out.equals("i32")) {
      // scales of about 1e-3 keep f16 from overflowing
      if (turn % 2 == 0) {
        inputs.put("scale", draw.uniform(1e-3, 2e-3, new TensorType(DType.F32, Shape.of())));
      } else {
        inputs.put("aScale", draw.uniform(1e-2, 2e-2, new TensorType(DType.F32, rows(size[0]))));
        inputs.put("bScale", draw.uniform(-1e-1, 1e-1, TensorType.of(DType.F32, size[1])));
      }
    }
    return make(inputs, Map.of("outDtype", out));
  }

  /** Returns a linear layer: most store b as [N, K], and all have a bias but those of i32. */
  private static Case layer(RandomGenerator random, int[] size, int turn) {
    var draw = new Draw(random);
    var out = List.of(DType.BF16, DType.F32, DType.F16, DType.I32).get(turn % 4);
    boolean transposeB = turn % 5 != 1;
    int m = size[0];
    int n = size[1];
    int k = size[2];
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("a", draw.integers(-128, 127, new TensorType(DType.I8, rows(m).with(k))));
    var stored = transposeB ? Shape.of(n, k) : Shape.of(k, n);
    inputs.put("b", draw.integers(-128, 127, new TensorType(DType.I8, stored)));
    if (out != DType.I32) {
      var bias = turn / 4 % 2 == 0 ? out : DType.F32;
      inputs.put("bias", draw.normal(0, 1, TensorType.of(bias, n)));
      if (turn % 3 == 2) {
        inputs.put("aScale", draw.uniform(1e-2, 2e-2, new TensorType(DType.F32, rows(m))));
        inputs.put("bScale", draw.uniform(-1e-1, 1e-1, TensorType.of(DType.F32, n)));
      } else if (turn % 3 == 1 || out == DType.F16) {
        inputs.put("scale", draw.uniform(1e-3, 2e-3, new TensorType(DType.F32, Shape.of())));
      }
    }
    return make(inputs, Map.of("outDtype", out.text(), "transposeB", transposeB));
  }

  /** Returns a case with extreme sums. */
  private static Case constant(int a, int b) {
    return make(
        Map.of("a", filled(a, 17, 65), "b", filled(b, 65, 13)),
        Map.of("outDtype", a == b ? "i32" : "f32"));
  }

  private static HostTensor filled(int value, long... extents) {
    var tensor = HostTensor.zeros(TensorType.of(DType.I8, extents));
    tensor.data().fill((byte) value);
    return tensor;
  }

  private static Case make(Map<String, HostTensor> inputs, Map<String, ?> given) {
    var attributes = Attributes.of(new MatmulInt8().description(), given);
    var out = DType.of(attributes.choice("outDtype")).orElseThrow();
    return new Case(inputs, attributes, Map.of("c", tolerance(out, inputs.containsKey("bias"))));
  }

  /** Returns the tolerance of one rounding; a bias can cancel a product that was rounded to f32. */
  private static Tolerance tolerance(DType out, boolean bias) {
    return switch (out) {
      case I32 -> Tolerance.exact();
      case F32 -> bias ? Tolerance.maximum(1e-6) : Tolerance.roundings(1.01, out);
      case F16 -> bias ? Tolerance.maximum(5e-4) : Tolerance.roundings(1.01, out);
      case BF16 -> bias ? Tolerance.maximum(4e-3) : Tolerance.roundings(1.01, out);
      default -> throw new IllegalArgumentException(out.text());
    };
  }
}
