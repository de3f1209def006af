package dev.athanor.ops.bench;

/** The one-sided sign test at a level of 1 %: whether wins in a number of pairs exceed chance. */
final class SignTest {

  private static final double LEVEL = 0.01;

  /**
   * The fewest pairs of which any number of wins is significant: all of 7, by chance in 1 of 128
   * cases.
   */
  static final int FEWEST_PAIRS = 7;

  private SignTest() {}

  static boolean isSignificant(int wins, int pairs) {
    double probability = 0;
    double term = Math.scalb(1.0, -pairs); // that of winning all pairs
    for (int losses = 0; losses <= pairs - wins; losses++) {
      probability += term;
      term *= (double) (pairs - losses) / (losses + 1);
    }
    return probability <= LEVEL;
  }
}
