package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.ops.attention.Score;

/**
 * Emits the gradients of scores.
 *
 * @param softcap whether there is a softcap
 */
record ScoreGradient(Score.Device score, boolean softcap) {

  /** The values of a query: lse in units of the base-2 logarithm, and delta. */
  record Query(Real lse, Real delta) {

    /** Returns lse in units of the base-2 logarithm. */
    static Real log2(Real lse) {
      // a query without visible keys has no gradient, so any finite value works
      var finite = lse.constant(0).where(lse.eq(Double.NEGATIVE_INFINITY), lse);
      return finite.times(Score.LOG2_E);
    }
  }

  /** Returns the query of an element, by row and column of the thread's part. */
  interface Queries {
    Query of(int row, int column);
  }

  /**
   * Computes the probabilities and the gradients of the scores without a mask.
   *
   * @param scores results of {@link Score.Device#cap}, which become probabilities
   * @param slopes gradients of the probabilities, which become those of the scores
   */
  void multiply(RegisterTile scores, RegisterTile slopes, Queries queries) {
    slopes.map((r, c, slope) -> {
      var of = queries.of(r, c);
      var s = scores.get(r, c);
      var p = score.probability(s, of.lse);
      var ds = p.times(slope.minus(of.delta));
      var scaled = softcap ? ds.times(score.slope(s)) : ds;
      s.set(p);
      return scaled;
    });
  }
}
