package dev.athanor.ops;

/** How far a result may be from its float64 reference. */
public record Tolerance(Metric metric, double limit) {

  /** What is limited. */
  public enum Metric {
    /** ‖out − ref‖ / ‖ref‖. */
    RELATIVE,
    /** max |out − ref| / (1 + |ref|). */
    MAXIMUM
  }

  /**
   * The error of a result by the metric; infinite when a NaN or an infinity stands where the
   * reference has none.
   */
  public double error(double[] result, double[] reference) {
    double difference = 0;
    double norm = 0;
    double maximum = 0;
    for (int i = 0; i < reference.length; i++) {
      if (Double.compare(result[i], reference[i]) == 0) {
        norm += Double.isFinite(reference[i]) ? reference[i] * reference[i] : 0;
        continue;
      }
      double off = Math.abs(result[i] - reference[i]);
      if (!Double.isFinite(off)) {
        return Double.POSITIVE_INFINITY;
      }
      difference += off * off;
      norm += reference[i] * reference[i];
      maximum = Math.max(maximum, off / (1 + Math.abs(reference[i])));
    }
    return switch (metric) {
      case RELATIVE ->
          difference == 0
              ? 0
              : Math.sqrt(difference) / Math.max(Math.sqrt(norm), Double.MIN_NORMAL);
      case MAXIMUM -> maximum;
    };
  }
}
