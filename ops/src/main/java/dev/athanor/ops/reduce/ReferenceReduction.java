package dev.athanor.ops.reduce;

import dev.athanor.ops.DType;
import dev.athanor.ops.reference.CompensatedSum;
import java.util.function.LongToDoubleFunction;
import java.util.function.LongUnaryOperator;

/**
 * The reference of reductions: floats in float64, integers in 64 bits.
 *
 * @param in dtype of the elements
 * @param correction of the number of elements, for a variance
 */
record ReferenceReduction(Reduction reduction, DType in, long correction) {

  /** Returns the result for floats, not rounded. */
  double ofFloats(long n, LongToDoubleFunction x) {
    return switch (reduction) {
      case SUM -> CompensatedSum.of(n, x);
      case MEAN -> CompensatedSum.of(n, x) / n;
      case L1 -> CompensatedSum.of(n, i -> Math.abs(x.applyAsDouble(i)));
      case SUM_SQUARE -> squares(n, x);
      case L2 -> Math.sqrt(squares(n, x));
      case LOG_SUM -> Math.log(limited(CompensatedSum.of(n, x)));
      case LOG_SUM_EXP -> {
        double most = n == 0 ? 0 : extreme(n, x, true);
        double sum =
            CompensatedSum.of(
                n, i -> x.applyAsDouble(i) == most ? 1 : Math.exp(x.applyAsDouble(i) - most));
        yield most + Math.log(sum);
      }
      case VARIANCE -> variance(n, x);
      case STD -> Math.sqrt(variance(n, x));
      case PROD -> {
        double product = 1;
        double lost = 0;
        for (long i = 0; i < n; i++) {
          double next = x.applyAsDouble(i);
          lost = lost * next + Math.fma(product, next, -product * next);
          product *= next;
        }
        yield Double.isNaN(lost) ? product : product + lost;
      }
      case MAX -> extreme(n, x, true);
      case MIN -> extreme(n, x, false);
      case ANY, ALL -> throw new IllegalStateException("bools are integers");
      case ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST -> {
        boolean greatest = isGreatest();
        yield position(
            n,
            (i, j) -> {
              double a = x.applyAsDouble(i);
              double b = x.applyAsDouble(j);
              return Double.isNaN(a) || Double.isNaN(b)
                  ? Boolean.compare(Double.isNaN(a), Double.isNaN(b))
                  : a == b ? 0 : (a > b) == greatest ? 1 : -1;
            });
      }
    };
  }

  /** Returns the result for integers, in the range of their dtype. */
  long ofIntegers(long n, LongUnaryOperator x) {
    return switch (reduction) {
      case ANY, ALL -> logical(n, i -> x.applyAsLong(i) != 0);
      case ARGMAX, ARGMAX_LAST, ARGMIN, ARGMIN_LAST ->
          position(
              n,
              (i, j) -> Long.compare(x.applyAsLong(i), x.applyAsLong(j)) * (isGreatest() ? 1 : -1));
      default -> {
        if (n == 0) {
          yield (long) reduction.neutral().orElseThrow();
        }
        long all = x.applyAsLong(0);
        all = reduction == Reduction.L1 ? Math.abs(all) : all;
        all = reduction == Reduction.SUM_SQUARE ? all * all : all;
        for (long i = 1; i < n; i++) {
          long next = x.applyAsLong(i);
          all =
              switch (reduction) {
                case SUM -> all + next;
                case L1 -> all + Math.abs(next);
                case SUM_SQUARE -> all + next * next;
                case PROD -> all * next;
                case MAX -> Math.max(all, next);
                case MIN -> Math.min(all, next);
                default -> throw new IllegalStateException(reduction.text());
              };
        }
        yield wrap(in, all);
      }
    };
  }

  /** Returns the low bits of an integer as a number of a dtype. */
  static long wrap(DType dtype, long value) {
    return switch (dtype) {
      case I32 -> (int) value;
      default -> value;
    };
  }

  private boolean isGreatest() {
    return reduction == Reduction.ARGMAX || reduction == Reduction.ARGMAX_LAST;
  }

  private interface Test {
    boolean holds(long i);
  }

  private int logical(long n, Test test) {
    boolean any = reduction == Reduction.ANY;
    for (long i = 0; i < n; i++) {
      if (test.holds(i) == any) {
        return any ? 1 : 0;
      }
    }
    return any ? 0 : 1;
  }

  private interface Order {
    int compare(long i, long j);
  }

  private long position(long n, Order order) {
    boolean last = reduction == Reduction.ARGMAX_LAST || reduction == Reduction.ARGMIN_LAST;
    long best = 0;
    for (long i = 1; i < n; i++) {
      if (order.compare(i, best) >= (last ? 0 : 1)) {
        best = i;
      }
    }
    return best;
  }

  private static double extreme(long n, LongToDoubleFunction x, boolean greatest) {
    double all = x.applyAsDouble(0);
    for (long i = 1; i < n; i++) {
      all = greatest ? Math.max(all, x.applyAsDouble(i)) : Math.min(all, x.applyAsDouble(i));
    }
    return all;
  }

  /** Returns the sum of squares; infinite if that of f32 is. */
  private double squares(long n, LongToDoubleFunction x) {
    return limited(CompensatedSum.of(n, i -> x.applyAsDouble(i) * x.applyAsDouble(i)));
  }

  /** Returns a number, or an infinity if it overflows the type of arithmetic. */
  private double limited(double number) {
    var dtype = in == DType.F64 ? DType.F64 : DType.F32;
    return Math.abs(number) >= dtype.overflow()
        ? Math.copySign(Double.POSITIVE_INFINITY, number)
        : number;
  }

  /** Returns the variance; NaN if the sum overflows, infinity if that of squares does. */
  private double variance(long n, LongToDoubleFunction x) {
    double sum = CompensatedSum.of(n, x);
    if (Double.isInfinite(limited(sum))) {
      return Double.NaN;
    }
    double mean = sum / n;
    double squares =
        CompensatedSum.of(n, i -> (x.applyAsDouble(i) - mean) * (x.applyAsDouble(i) - mean));
    boolean overflows = Double.isFinite(mean) && Double.isInfinite(squares(n, x));
    return (overflows ? Double.POSITIVE_INFINITY : squares) / (n - correction);
  }
}
