package dev.athanor.ops.reference;

import java.util.function.LongToDoubleFunction;

/** A sum in float64 whose rounding errors are summed and added at the end. */
public final class CompensatedSum {

  private CompensatedSum() {}

  /** Returns the sum of {@code n} numbers. */
  public static double of(long n, LongToDoubleFunction x) {
    double sum = 0;
    double lost = 0;
    for (long i = 0; i < n; i++) {
      double next = x.applyAsDouble(i);
      double total = sum + next;
      double ofNext = total - sum;
      lost += (sum - (total - ofNext)) + (next - ofNext);
      sum = total;
    }
    return Double.isNaN(lost) ? sum : sum + lost;
  }
}
