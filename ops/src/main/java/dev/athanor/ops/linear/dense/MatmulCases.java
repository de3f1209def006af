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

/** Test cases of products for every dtype, transpose, epilogue, alignment and edge case. */
final class MatmulCases {

  /**
   * M, N, K: single elements, primes, one more and one less than tile sizes, odd and even leading
   * dimensions.
   */
  private static final int[][] SIZES = {
    {1, 1, 1},
    {1, 13, 24},
    {13, 1, 17},
    {2, 3, 4},
    {16, 8, 16},
    {17, 19, 31},
    {33, 32, 64},
    {31, 66, 36},
    {64, 64, 32},
    {65, 63, 33},
    {40, 72, 100},
    {128, 128, 96},
    {129, 130, 40},
    {127, 8, 256}
  };

  private static final int[][] QUICK_SIZES = {{1, 1, 1}, {17, 19, 31}, {33, 72, 64}};

  /** Leading dimensions of a and b. */
  record Broadcast(Shape a, Shape b) {}

  /** Two loops over products, two with merged rows, and three. */
  static final List<Broadcast> BROADCAST =
      List.of(
          new Broadcast(Shape.of(3, 1), Shape.of(1, 2)),
          new Broadcast(Shape.of(2, 3), Shape.of(2, 1)),
          new Broadcast(Shape.of(2, 1, 2), Shape.of(3, 2)));

  private MatmulCases() {}

  static List<Case> of(RandomGenerator random, boolean quick) {
    var activations = Activation.EPILOGUES;
    var cases = new ArrayList<Case>();
    int n = 0;
    var sizes = quick ? QUICK_SIZES : SIZES;
    for (int s = 0; s < sizes.length; s++) {
      // sizes alternate between the two halves of the transposes
      for (int transposes = s % 2; transposes < 4; transposes += 2) {
        // activations are combined with transposes in turn; half of the cases have a bias
        var activation = activations.get(n % activations.size());
        var attributes =
            Map.of(
                "transposeA",
                (transposes & 1) != 0,
                "transposeB",
                (transposes & 2) != 0,
                "alpha",
                n % 3 == 0 ? 1 : 0.5,
                "activation",
                activation.text());
        boolean bias = n % 4 < 2;
        cases.add(make(random, DType.F32, Shape.of(), Shape.of(), sizes[s], attributes, bias));
        n++;
      }
    }
    cases.add(
        make(random, DType.F32, Shape.of(3), Shape.of(3), new int[] {5, 7, 9}, Map.of(), false));
    cases.add(
        make(
            random, DType.F32, Shape.of(2, 1), Shape.of(3), new int[] {18, 6, 10}, Map.of(), true));
    cases.add(
        make(random, DType.F32, Shape.of(), Shape.of(2, 2), new int[] {4, 16, 8}, Map.of(), false));
    for (var dtype : List.of(DType.F32, DType.F64)) {
      for (var batch : BROADCAST) {
        cases.add(make(random, dtype, batch.a, batch.b, new int[] {5, 9, 70}, Map.of(), true));
      }
    }
    // a row vector and a column vector
    cases.add(
        make(random, DType.F32, Shape.of(2, 1), Shape.of(3), new int[] {1, 9, 7}, Map.of(), true));
    cases.add(
        make(random, DType.F16, Shape.of(2, 1), Shape.of(3), new int[] {9, 1, 7}, Map.of(), false));
    for (var dtype : List.of(DType.F16, DType.BF16)) {
      for (int[] size : List.of(new int[] {33, 72, 64}, new int[] {17, 19, 31})) {
        cases.add(
            withSingleBias(make(random, dtype, Shape.of(), Shape.of(), size, Map.of(), true)));
      }
    }
    cases.addAll(TensorCases.of(random, quick));
    cases.addAll(SimtCases.of(random, quick));
    return cases;
  }

  /** Returns a case with a bias of f32. */
  private static Case withSingleBias(Case of) {
    var inputs = new HashMap<>(of.inputs());
    inputs.computeIfPresent(
        "bias",
        (_, bias) ->
            HostTensor.of(new TensorType(DType.F32, bias.type().shape()), bias.toDoubles()));
    return new Case(inputs, of.attributes(), of.tolerances());
  }

  static Case make(
      RandomGenerator random,
      DType dtype,
      Shape batchA,
      Shape batchB,
      int[] size,
      Map<String, ?> given,
      boolean bias) {
    var attributes = Attributes.of(new Matmul().description(), given);
    int m = size[0];
    int n = size[1];
    int k = size[2];
    var inputs = new HashMap<String, HostTensor>();
    inputs.put(
        "a",
        normal(
            random, dtype, attributes.flag("transposeA") ? batchA.with(k, m) : batchA.with(m, k)));
    inputs.put(
        "b",
        normal(
            random, dtype, attributes.flag("transposeB") ? batchB.with(n, k) : batchB.with(k, n)));
    if (bias) {
      inputs.put("bias", normal(random, dtype, Shape.of(n)));
    }
    var tolerance = ProductDescription.tolerance(dtype, k);
    // A bias can cancel the product, and the tails of an activation amplify its error. In these
    // cases the error is measured relative to 1 + |ref|; alpha multiplies the error of the product.
    var activation = Activation.of(attributes.choice("activation"));
    boolean plain = !bias && (activation == Activation.NONE || activation == Activation.RELU);
    double factor = Math.max(1, attributes.number("alpha"));
    return new Case(
        inputs,
        attributes,
        Map.of("c", plain ? tolerance : Tolerance.maximum(factor * tolerance.limit())));
  }

  private static HostTensor normal(RandomGenerator random, DType dtype, Shape shape) {
    return new Draw(random).normal(0, 1, new TensorType(dtype, shape));
  }
}
