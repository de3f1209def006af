package dev.athanor.ops.bench;

import java.math.BigDecimal;
import java.math.MathContext;

/** Formats quantities with four significant digits and a suitable unit. */
public final class Units {

  private static final MathContext FOUR_DIGITS = new MathContext(4);

  private Units() {}

  /**
   * Returns a time: {@code 41.90 µs}, {@code 1.250 ms}, {@code 12.00 s}.
   *
   * @param micros in microseconds
   */
  public static String time(double micros) {
    double value = rounded(micros);
    return value < 1e3
        ? digits(value) + " µs"
        : value < 1e6 ? digits(value / 1e3) + " ms" : digits(value / 1e6) + " s";
  }

  /** Returns floating-point operations per second: {@code 4.700 GFLOP/s}. */
  public static String flops(double perSecond) {
    return rate(perSecond, "FLOP/s");
  }

  /** Returns bytes per second: {@code 1.430 MB/s}, {@code 4.100 TB/s}. */
  public static String bytes(double perSecond) {
    return rate(perSecond, "B/s");
  }

  /** Returns a size: {@code 512 B}, {@code 32.00 MiB}. */
  public static String memory(long bytes) {
    int power =
        bytes == 0 ? 0 : Math.min(4, (Long.SIZE - 1 - Long.numberOfLeadingZeros(bytes)) / 10);
    return power == 0
        ? bytes + " B"
        : "%s %siB"
            .formatted(
                digits(rounded(Math.scalb((double) bytes, -10 * power))), "KMGT".charAt(power - 1));
  }

  private static String rate(double perSecond, String unit) {
    double value = rounded(perSecond);
    return value < 1e6
        ? "%s k%s".formatted(digits(value / 1e3), unit)
        : value < 1e9
            ? "%s M%s".formatted(digits(value / 1e6), unit)
            : value < 1e12
                ? "%s G%s".formatted(digits(value / 1e9), unit)
                : "%s T%s".formatted(digits(value / 1e12), unit);
  }

  private static double rounded(double value) {
    return new BigDecimal(value).round(FOUR_DIGITS).doubleValue();
  }

  private static String digits(double value) {
    int decimals = value <= 0 ? 0 : (int) Math.clamp(3 - Math.floor(Math.log10(value)), 0, 6);
    return ("%." + decimals + "f").formatted(value);
  }
}
