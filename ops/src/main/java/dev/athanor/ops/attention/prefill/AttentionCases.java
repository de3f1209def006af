package dev.athanor.ops.attention.prefill;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.AttentionSize;
import dev.athanor.ops.attention.Mask;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases for every dtype, mask, tile, alignment and edge case. */
final class AttentionCases {

  private static final Map<String, ?> PLAIN = Map.of();
  private static final Map<String, ?> LSE = Map.of("withLse", true);
  private static final Map<String, ?> CAUSAL = Map.of("causal", true);
  private static final Map<String, ?> CAUSAL_LSE = Map.of("causal", true, "withLse", true);

  private static final List<AttentionSize> FORWARD =
      List.of(
          AttentionSize.oneHead(1, 1, 1, 1, LSE),
          AttentionSize.oneHead(17, 17, 16, 8, CAUSAL_LSE),
          AttentionSize.oneHead(33, 65, 31, 13, LSE),
          AttentionSize.oneHead(65, 63, 36, 20, CAUSAL_LSE),
          AttentionSize.oneHead(19, 127, 64, 64, PLAIN),
          AttentionSize.oneHead(1, 300, 64, 64, LSE),
          AttentionSize.oneHead(7, 260, 72, 40, CAUSAL),
          AttentionSize.oneHead(70, 100, 64, 64, Map.of("causal", true, "window", 9)),
          AttentionSize.oneHead(31, 140, 64, 64, Map.of("window", 33, "withLse", true)),
          AttentionSize.oneHead(40, 70, 64, 64, Map.of("causal", true, "softcap", 2, "scale", 0.3)),
          AttentionSize.oneHead(16, 33, 128, 128, CAUSAL),
          AttentionSize.oneHead(
              13, 40, 256, 256, Map.of("causal", true, "softcap", 20, "withLse", true)),
          AttentionSize.oneHead(33, 16, 192, 100, PLAIN),
          AttentionSize.oneHead(18, 21, 99, 71, CAUSAL),
          AttentionSize.oneHead(9, 35, 300, 40, PLAIN),
          AttentionSize.oneHead(17, 37, 576, 512, CAUSAL_LSE),
          AttentionSize.oneHead(5, 70, 64, 273, LSE),
          AttentionSize.oneHead(7, 20, 576, 576, CAUSAL),
          new AttentionSize(2, 4, 2, 17, 33, 32, 32, CAUSAL_LSE),
          new AttentionSize(3, 3, 1, 5, 18, 48, 16, PLAIN));

  private static final List<AttentionSize> QUICK_FORWARD =
      List.of(
          AttentionSize.oneHead(17, 19, 16, 8, CAUSAL_LSE),
          AttentionSize.oneHead(5, 270, 64, 64, LSE),
          new AttentionSize(
              2, 4, 2, 33, 31, 40, 36, Map.of("causal", true, "window", 7, "softcap", 5)));

  /**
   * The size of a case with a mask.
   *
   * @param bool whether the mask is bool
   * @param mask its extents without the last
   */
  private record Masked(AttentionSize size, boolean bool, List<Long> mask) {
    Masked(AttentionSize size, boolean bool, long... mask) {
      this(size, bool, Shape.of(mask).extents());
    }
  }

  private static final List<Masked> MASKED =
      List.of(
          new Masked(AttentionSize.oneHead(17, 33, 16, 16, LSE), true, 17),
          new Masked(AttentionSize.oneHead(70, 131, 40, 24, LSE), false, 70),
          new Masked(AttentionSize.oneHead(9, 300, 64, 64, CAUSAL_LSE), true, 1),
          new Masked(AttentionSize.oneHead(2, 300, 64, 32, LSE), false, 2),
          new Masked(
              new AttentionSize(
                  2, 4, 2, 19, 37, 32, 32, Map.of("softcap", 2, "withLse", true, "window", 20)),
              false,
              4,
              19),
          new Masked(new AttentionSize(2, 4, 1, 5, 150, 32, 16, LSE), true, 2, 1, 5),
          new Masked(new AttentionSize(2, 4, 2, 3, 270, 128, 100, CAUSAL_LSE), false, 2, 4, 3),
          new Masked(new AttentionSize(2, 2, 2, 35, 20, 136, 136, CAUSAL_LSE), true, 2, 1, 1),
          new Masked(AttentionSize.oneHead(130, 65, 64, 64, PLAIN), true, 130),
          new Masked(AttentionSize.oneHead(130, 65, 64, 64, PLAIN), false, 130));

  private static final List<Masked> QUICK_MASKED =
      List.of(
          new Masked(new AttentionSize(2, 4, 2, 5, 37, 16, 16, LSE), true, 2, 1, 5),
          new Masked(AttentionSize.oneHead(17, 140, 32, 24, CAUSAL_LSE), false, 17));

  private AttentionCases() {}

  /**
   * Returns inputs with a mask that hides every third key, all keys of the last row, and the last
   * key of all rows, which is NaN.
   */
  private static Map<String, HostTensor> masked(Draw draw, DType dtype, Masked masked) {
    var size = masked.size;
    var inputs = new HashMap<>(size.draw(draw, dtype));
    // f32 beside 16-bit queries with heads, otherwise the dtype of q
    var ofBias = size.heads() > 1 ? DType.F32 : dtype;
    var shape = new Shape(masked.mask).with(size.sk());
    var type = new TensorType(masked.bool ? DType.BOOL : ofBias, shape);
    var mask = masked.bool ? draw.integers(1, 1, type) : draw.normal(0, 2, type);
    long elements = shape.elements();
    for (long at = 0; at < elements; at++) {
      boolean last = at % size.sk() == size.sk() - 1;
      if (last || at % 3 == 0 || (at >= elements - size.sk() && elements > size.sk())) {
        type.dtype().write(mask.data(), at, masked.bool ? 0 : Double.NEGATIVE_INFINITY);
      }
    }
    inputs.put(Mask.NAME, mask);
    for (var name : List.of("k", "v")) {
      var tensor = AttentionReference.tensor(inputs, name);
      long columns = tensor.type().shape().extent(-1);
      for (long at = 0; at < tensor.type().shape().elements(); at++) {
        if (at / columns % size.sk() == size.sk() - 1) {
          dtype.write(tensor.data(), at, Double.NaN);
        }
      }
    }
    return inputs;
  }

  static List<Case> forward(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var op = new Attention();
    var cases = new ArrayList<Case>();
    for (var dtype : AttentionSize.DTYPES) {
      for (var size : AttentionSize.forDType(dtype, quick ? QUICK_FORWARD : FORWARD)) {
        cases.add(forward(op, size.draw(draw, dtype), size.given()));
      }
      // a NaN or infinity in a query affects only that query
      var special = new HashMap<>(AttentionSize.oneHead(20, 18, 8, 8, PLAIN).draw(draw, dtype));
      special.put("q", products(draw.special(dtype, 20, 8)));
      cases.add(forward(op, special, LSE));
      for (var size : AttentionSize.forDType(dtype, quick ? QUICK_MASKED : MASKED)) {
        cases.add(forward(op, masked(draw, dtype, size), size.size.given()));
      }
      // more queries than keys: the first queries see none
      cases.add(
          forward(op, AttentionSize.oneHead(37, 20, 16, 16, PLAIN).draw(draw, dtype), CAUSAL_LSE));
      for (int sign : new int[] {1, -1}) {
        var large = AttentionSize.oneHead(3, 150, 64, 24, PLAIN);
        cases.add(forward(op, large.drawLargeScores(draw, dtype, sign), LSE));
      }
    }
    return cases;
  }

  /** Replaces numbers so large that their products overflow f32. */
  private static HostTensor products(HostTensor tensor) {
    for (long i = 0; i < tensor.type().shape().elements(); i++) {
      double value = tensor.get(i);
      if (Double.isFinite(value) && Math.abs(value) > 1e30) {
        tensor.type().dtype().write(tensor.data(), i, 1);
      }
    }
    return tensor;
  }

  private static Case forward(Op op, Map<String, HostTensor> inputs, Map<String, ?> given) {
    var attributes = Attributes.of(op.description(), given);
    var dtype = AttentionReference.tensor(inputs, "q").type().dtype();
    return new Case(
        inputs,
        attributes,
        Map.of("out", AttentionProblem.tolerance(dtype), "lse", Tolerance.maximum(1e-5)));
  }
}
