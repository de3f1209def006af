package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Activation;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Test cases of products on tensor cores. Each size is used once per factor type; alignments,
 * transposes and epilogues rotate, so that every pair is combined.
 */
final class TensorCases {

  /**
   * Factor types and their sizes M, N, K: one, primes, rows copied in 16, 8, 4, 2 and 1 bytes, more
   * rows or columns than any tile, more row tiles than a band, and large K.
   *
   * @param tf32 whether factors are rounded to tf32
   */
  private record Factors(DType a, DType b, boolean tf32, List<Size> sizes) {}

  /** M, N and K. */
  private record Size(int m, int n, int k) {}

  private static final List<Factors> FACTORS =
      List.of(
          new Factors(
              DType.F16,
              DType.F16,
              false,
              List.of(
                  new Size(1, 1, 1),
                  new Size(13, 1, 17),
                  new Size(1, 13, 24),
                  new Size(17, 19, 31),
                  new Size(33, 32, 64),
                  new Size(31, 66, 36),
                  new Size(40, 72, 100),
                  new Size(65, 63, 33),
                  new Size(65, 130, 40),
                  new Size(136, 24, 40),
                  new Size(16, 48, 300),
                  new Size(63, 17, 260))),
          new Factors(
              DType.BF16,
              DType.BF16,
              false,
              List.of(
                  new Size(17, 19, 31),
                  new Size(33, 32, 64),
                  new Size(31, 66, 36),
                  new Size(65, 136, 24),
                  new Size(16, 24, 300))),
          new Factors(
              DType.F32,
              DType.F32,
              true,
              List.of(
                  new Size(1, 13, 24),
                  new Size(17, 19, 31),
                  new Size(33, 32, 64),
                  new Size(65, 130, 23),
                  new Size(16, 24, 150))),
          new Factors(
              DType.E4M3,
              DType.E4M3,
              false,
              List.of(
                  new Size(13, 1, 17),
                  new Size(17, 19, 31),
                  new Size(33, 32, 64),
                  new Size(31, 66, 36),
                  new Size(40, 72, 100),
                  new Size(65, 130, 48),
                  new Size(16, 24, 600))));

  private static final List<Size> QUICK_SIZES =
      List.of(new Size(17, 19, 31), new Size(33, 72, 64), new Size(16, 24, 300));

  private TensorCases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    int turn = 0;
    for (int f = 0; f < FACTORS.size(); f++) {
      var sizes = quick ? QUICK_SIZES : FACTORS.get(f).sizes;
      for (int s = 0; s < sizes.size(); s++) {
        var factors = FACTORS.get(f);
        if (factors.a == DType.E4M3) {
          // every combination of the two 8-bit formats
          factors =
              new Factors(
                  turn % 2 == 0 ? DType.E4M3 : DType.E5M2,
                  turn / 2 % 2 == 0 ? DType.E4M3 : DType.E5M2,
                  false,
                  factors.sizes);
        }
        cases.add(
            make(
                random,
                factors,
                Shape.of(),
                Shape.of(),
                sizes.get(s),
                attributes(factors, s + f, turn),
                turn % 3 == 1));
        turn++;
      }
    }
    var f16 = FACTORS.getFirst();
    var plain = Map.<String, Object>of();
    cases.add(make(random, f16, Shape.of(3), Shape.of(3), new Size(5, 7, 9), plain, false));
    cases.add(make(random, f16, Shape.of(2, 1), Shape.of(3), new Size(18, 6, 300), plain, true));
    for (var factors : FACTORS) {
      for (var batch : MatmulCases.BROADCAST) {
        var given = attributes(factors, turn, 1);
        cases.add(make(random, factors, batch.a(), batch.b(), new Size(5, 9, 150), given, false));
        turn++;
      }
    }
    for (var dtype : List.of(DType.F16, DType.BF16, DType.E5M2)) {
      cases.add(special(random, dtype));
    }
    return cases;
  }

  private static Map<String, Object> attributes(Factors factors, int transposes, int turn) {
    var given = new HashMap<String, Object>();
    given.put("transposeA", transposes % 2 != 0);
    given.put("transposeB", transposes / 2 % 2 != 0);
    given.put("alpha", turn % 3 == 0 ? 1 : 0.5);
    var activations = Activation.EPILOGUES;
    given.put("activation", activations.get(turn % activations.size()).text());
    if (factors.tf32) {
      given.put("precision", "tf32");
    } else if (turn % 4 != 0) {
      given.put("outDtype", List.of("f32", "f16", "bf16").get(turn % 4 - 1));
    }
    return given;
  }

  private static Case make(
      RandomGenerator random,
      Factors factors,
      Shape batchA,
      Shape batchB,
      Size size,
      Map<String, ?> given,
      boolean bias) {
    var attributes = Attributes.of(new Matmul().description(), given);
    int m = size.m;
    int n = size.n;
    int k = size.k;
    boolean tA = attributes.flag("transposeA");
    boolean tB = attributes.flag("transposeB");
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("a", normal(random, factors.a, tA ? batchA.with(k, m) : batchA.with(m, k)));
    inputs.put("b", normal(random, factors.b, tB ? batchB.with(n, k) : batchB.with(k, n)));
    var out = Matmul.problem(HostTensor.types(inputs), attributes).outDType();
    if (bias) {
      inputs.put("bias", normal(random, factors.a.bytes() == 1 ? out : factors.a, Shape.of(n)));
    }
    double limit = Matmul.TF32_TOLERANCE;
    if (!factors.tf32) {
      double ofOut = out == DType.F32 ? 0 : ProductDescription.tolerance(out, k).limit();
      limit = Math.max(ProductDescription.tolerance(factors.a, k).limit(), ofOut);
    }
    // A bias can cancel the product, and the tails of an activation amplify its error. In these
    // cases the error is measured relative to 1 + |ref|; with tf32 factors it grows like a sum of
    // random errors.
    var activation = Activation.of(attributes.choice("activation"));
    boolean plain = !bias && (activation == Activation.NONE || activation == Activation.RELU);
    return new Case(
        inputs,
        attributes,
        Map.of(
            "c",
            plain
                ? Tolerance.relative(limit)
                : Tolerance.maximum(factors.tf32 ? limit * Math.sqrt(k) : limit)));
  }

  /**
   * Returns a case with NaN, infinities, subnormal and the greatest numbers among ordinary ones; K
   * is 2.
   */
  private static Case special(RandomGenerator random, DType dtype) {
    var draw = new Draw(random);
    return new Case(
        Map.of(
            "a", draw.special(dtype, 34, 2),
            "b", draw.uniform(-0.5, 0.5, TensorType.of(dtype, 2, 9))),
        Attributes.of(new Matmul().description(), Map.of("outDtype", "f32")),
        Map.of("c", Tolerance.maximum(ProductDescription.tolerance(DType.E4M3, 2).limit())));
  }

  private static HostTensor normal(RandomGenerator random, DType dtype, Shape shape) {
    return new Draw(random).normal(0, 1, new TensorType(dtype, shape));
  }
}
