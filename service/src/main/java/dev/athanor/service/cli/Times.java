package dev.athanor.service.cli;

import java.math.BigDecimal;
import java.math.MathContext;

/** Formats times for people. */
final class Times {

  private static final MathContext FOUR_DIGITS = new MathContext(4);

  private Times() {}

  /**
   * Returns a time with the unit that suits its size and four significant digits: {@code 41.90 µs},
   * {@code 1.250 ms}, {@code 12.00 s}.
   *
   * @param micros in microseconds
   */
  static String text(double micros) {
    // just below 1000, four digits would round up to five
    if (micros < 999.95) {
      return digits(micros) + " µs";
    }
    return micros < 999_950 ? digits(micros / 1e3) + " ms" : digits(micros / 1e6) + " s";
  }

  /** Returns a number of at least 0 with four significant digits; whole numbers keep all of theirs. */
  static String digits(double value) {
    double rounded = new BigDecimal(value).round(FOUR_DIGITS).doubleValue();
    int decimals = rounded <= 0 ? 0 : (int) Math.clamp(3 - Math.floor(Math.log10(rounded)), 0, 6);
    return ("%." + decimals + "f").formatted(value);
  }
}
