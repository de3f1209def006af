package dev.athanor.ops.attention;

import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RowVector;

/**
 * Emits the softmax of scores that come tile by tile (Milakov and Gimelshein, 2018): the running
 * maximum and the running sum of exponentials of a thread's rows.
 */
public final class Softmax {
  private final Score.Device score;
  private final boolean hides;
  private final RowVector greatest;

  /** The sum of exponentials over this thread's columns only. */
  private final RowVector total;

  /**
   * Creates a softmax that has seen no scores.
   *
   * @param rows a tile with the rows of the scores
   * @param hides whether a row may not see all scores
   */
  public Softmax(Score.Device score, RegisterTile rows, boolean hides) {
    this.score = score;
    this.hides = hides;
    greatest = rows.rowVector(Double.NEGATIVE_INFINITY);
    total = rows.rowVector(0);
  }

  /**
   * Replaces the scores of a tile by weights. All lanes of the warp must participate.
   *
   * @param scores results of {@link Score.Device#cap}; -infinity for those that a row does not see
   * @return the factor of each row by which earlier weighted sums must be multiplied
   */
  public RowVector add(RegisterTile scores) {
    var most = scores.reduceRows(Real::max).zip(greatest, Real::max);
    var finite = most.map(this::orZero);
    var shrink = greatest.zip(finite, score::weight);
    scores.map(finite, score::weight);
    greatest.set(most);
    total.set(total.zip(shrink, Real::times).zip(scores.reduceColumns(Real::plus), Real::plus));
    return shrink;
  }

  /** Returns 0 for a row without a visible key so far, else the maximum. */
  private Real orZero(Real most) {
    return hides ? most.constant(0).where(most.eq(Double.NEGATIVE_INFINITY), most) : most;
  }

  /**
   * Divides weighted sums by the sums of weights; those of rows that have seen no score become 0.
   *
   * @return the sum of weights of each row
   */
  public RowVector normalize(RegisterTile sums) {
    var ofRows = sums.reduceLanes(total, Real::plus);
    sums.map(ofRows.map(sum -> sum.constant(0).where(sum.eq(0), sum.reciprocal())), Real::times);
    return ofRows;
  }

  /** Returns the greatest score of a row, as {@link Score.Device#cap} returns it. */
  public Real greatest(int row) {
    return greatest.get(row);
  }

  /**
   * Returns the base-2 logarithm of the sum of exponentials of a row's scores.
   *
   * @param sum of its weights
   */
  public Real log2SumExp(int row, Real sum) {
    return score.log2(greatest.get(row)).plus(sum.log2());
  }
}
