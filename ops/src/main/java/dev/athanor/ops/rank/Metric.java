package dev.athanor.ops.rank;

import dev.athanor.engine.author.Real;
import java.util.Locale;

/** The score of a query and a row, computed in f32 from sums of products. */
enum Metric {
  DOT,
  /** The cosine of the angle between them; 0 if one of them is zero. */
  COSINE,
  /** The squared Euclidean distance. */
  L2;

  String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Metric of(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT));
  }

  /** Returns whether the greatest score is the best. */
  boolean descends() {
    return this != L2;
  }

  /** Returns {@code sum} plus the term of a pair of elements. */
  Real add(Real sum, Real query, Real row) {
    if (this != L2) {
      return query.fma(row, sum);
    }
    var difference = query.minus(row);
    return difference.fma(difference, sum);
  }

  /**
   * Returns the score.
   *
   * @param query the sum of the squares of the query; 0 unless this is the cosine
   * @param row the sum of the squares of the row; 0 unless this is the cosine
   */
  Real score(Real sum, Real query, Real row) {
    if (this != COSINE) {
      return sum;
    }
    // the product of the sums of squares may overflow
    var length = query.sqrt().times(row.sqrt());
    return sum.constant(0).where(length.eq(0), sum.over(length));
  }

  /** Returns the score of vectors, with sums in float64 that are then rounded to f32. */
  float score(double[] query, double[] row) {
    double sum = 0;
    double ofQuery = 0;
    double ofRow = 0;
    for (int d = 0; d < query.length; d++) {
      double difference = query[d] - row[d];
      sum += this == L2 ? difference * difference : query[d] * row[d];
      ofQuery += query[d] * query[d];
      ofRow += row[d] * row[d];
    }
    if (this != COSINE) {
      return (float) sum;
    }
    // the arithmetic of the kernel, so that rounding does not change the order
    float length = (float) Math.sqrt((float) ofQuery) * (float) Math.sqrt((float) ofRow);
    return length == 0 ? 0 : (float) sum / length;
  }
}
