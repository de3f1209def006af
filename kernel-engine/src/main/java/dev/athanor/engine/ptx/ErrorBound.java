package dev.athanor.engine.ptx;

/**
 * The error that the PTX manual allows an instruction.
 *
 * @param relative the greatest difference, as a share of the exact value
 * @param absolute the greatest difference; a result is right within either
 * @param greatest magnitude of an operand for which the manual gives a bound
 */
public record ErrorBound(double relative, double absolute, double greatest) {

  /** No error. */
  public static final ErrorBound EXACT = new ErrorBound(0, 0, Double.POSITIVE_INFINITY);

  public static ErrorBound relative(double bound) {
    return new ErrorBound(bound, 0, Double.POSITIVE_INFINITY);
  }

  public static ErrorBound absolute(double bound) {
    return new ErrorBound(0, bound, Double.POSITIVE_INFINITY);
  }
}
