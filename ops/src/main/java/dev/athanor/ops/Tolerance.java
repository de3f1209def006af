package dev.athanor.ops;

/**
 * The maximum error of a result relative to its float64 reference.
 *
 * @param dtype of the result; used only by {@link Metric#ROUNDINGS}
 */
public record Tolerance(Metric metric, double limit, DType dtype) {

  /** The error that is limited. */
  public enum Metric {
    /** ‖out − ref‖ / ‖ref‖. */
    RELATIVE,
    /** max |out − ref| / (1 + |ref|). */
    MAXIMUM,
    /** max |out − ref| divided by half the spacing of the dtype's numbers at ref. */
    ROUNDINGS
  }

  public Tolerance(Metric metric, double limit) {
    this(metric, limit, DType.F64);
  }

  /** Returns a tolerance of zero. */
  public static Tolerance exact() {
    return new Tolerance(Metric.MAXIMUM, 0);
  }

  /**
   * Returns a tolerance in units of one rounding to a dtype; 1 permits the reference rounded to
   * nearest.
   */
  public static Tolerance roundings(double limit, DType dtype) {
    return new Tolerance(Metric.ROUNDINGS, limit, dtype);
  }

  /** Returns the usual relative tolerance for results of a dtype; integers are exact. */
  public static Tolerance usual(DType dtype) {
    return switch (dtype) {
      case F64 -> relative(1e-12);
      case F32 -> relative(1e-4);
      case F16 -> relative(2e-3);
      case BF16 -> relative(1e-2);
      case E4M3, E5M2 -> relative(0.1);
      default -> exact();
    };
  }

  public static Tolerance relative(double limit) {
    return new Tolerance(Metric.RELATIVE, limit);
  }

  public static Tolerance maximum(double limit) {
    return new Tolerance(Metric.MAXIMUM, limit);
  }

  /**
   * Returns the error of a result in the metric; infinite if the result has a NaN or an infinity
   * where the reference has none.
   */
  public double error(double[] result, double[] reference) {
    double difference = 0;
    double norm = 0;
    double maximum = 0;
    for (int i = 0; i < reference.length; i++) {
      if (same(result[i], reference[i])) {
        norm += Double.isFinite(reference[i]) ? reference[i] * reference[i] : 0;
        continue;
      }
      double off = Math.abs(result[i] - reference[i]);
      if (!Double.isFinite(off)) {
        return Double.POSITIVE_INFINITY;
      }
      difference += off * off;
      norm += reference[i] * reference[i];
      maximum = Math.max(maximum, off / unit(reference[i]));
    }
    return switch (metric) {
      case RELATIVE ->
          difference == 0
              ? 0
              : Math.sqrt(difference) / Math.max(Math.sqrt(norm), Double.MIN_NORMAL);
      case MAXIMUM, ROUNDINGS -> maximum;
    };
  }

  /** Returns the error that an element may have when the whole result is at the limit. */
  public double allowed(double reference, double rootMeanSquare) {
    return limit * (metric == Metric.RELATIVE ? rootMeanSquare : unit(reference));
  }

  private double unit(double reference) {
    return metric == Metric.ROUNDINGS ? dtype.spacing(reference) / 2 : 1 + Math.abs(reference);
  }

  /**
   * Returns whether an element has no error. If the reference overflows the dtype, an infinity of
   * the same sign is correct.
   */
  private boolean same(double result, double reference) {
    return Double.compare(result, reference) == 0
        || (Double.isInfinite(result)
            && metric == Metric.ROUNDINGS
            && result * reference > 0
            && Math.abs(reference) >= dtype.overflow());
  }
}
