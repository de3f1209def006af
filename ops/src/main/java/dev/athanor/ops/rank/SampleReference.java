package dev.athanor.ops.rank;

import java.util.Arrays;
import java.util.Comparator;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The reference of sample. It computes the scores with the arithmetic of the kernels, so that
 * rounding does not change the token.
 */
final class SampleReference {

  private SampleReference() {}

  /** Returns the token of a row. */
  static long token(double[] logits, SampleOp.Settings settings, long seed, long counter) {
    if (settings.isGreedy()) {
      return best(logits, _ -> true);
    }
    var scaled = new float[logits.length];
    for (int i = 0; i < scaled.length; i++) {
      scaled[i] = (float) logits[i] * settings.scale();
    }
    var order =
        IntStream.range(0, logits.length)
            .boxed()
            // adding 0 makes -0 equal to 0
            .sorted(Comparator.comparingDouble((Integer i) -> logits[i] + 0.0).reversed())
            .limit(settings.topK())
            .mapToInt(i -> i)
            .toArray();
    float greatest = scaled[order[0]];
    long all = IntStream.of(order).mapToLong(i -> ExactMath.weight(scaled[i] - greatest)).sum();
    var kept = new boolean[logits.length];
    long before = 0;
    for (int i : order) {
      boolean isIncluded = i == order[0] || !settings.cuts() || before < settings.topP() * all;
      kept[i] = isIncluded && !(scaled[i] < greatest + settings.logMinP());
      before += ExactMath.weight(scaled[i] - greatest);
    }
    var scores = new double[logits.length];
    Arrays.setAll(scores, i -> scaled[i] + noise(i, seed, counter));
    return best(scores, i -> kept[i]);
  }

  /** Returns the index of the greatest kept score, the first of equal ones. */
  private static int best(double[] scores, IntPredicate kept) {
    int best = -1;
    for (int i = 0; i < scores.length; i++) {
      if (kept.test(i) && (best < 0 || Double.compare(scores[i] + 0.0, scores[best] + 0.0) > 0)) {
        best = i;
      }
    }
    return best;
  }

  /** Returns the random term of a token. */
  static float noise(int index, long seed, long counter) {
    int[] position = {
      index / TokenChoice.WORDS, 0, (int) counter, (int) (counter >>> Integer.SIZE)
    };
    int[] key = {(int) seed, (int) (seed >>> Integer.SIZE)};
    return ExactMath.gumbel(Philox.words(position, key)[index % TokenChoice.WORDS]);
  }
}
