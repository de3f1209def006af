package dev.athanor.engine.lift.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Holds the functions of the library to the error bounds that their comments state. */
class AccuracyTest {

  private static final double[] SPECIAL = {
    0,
    -0.0,
    1,
    -1,
    0.5,
    -2,
    3,
    8,
    1000,
    1e22,
    -1e-5,
    1e-17,
    Double.MIN_VALUE,
    -Double.MIN_VALUE,
    Double.MIN_NORMAL,
    Double.MAX_VALUE,
    -Double.MAX_VALUE,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.NaN,
    0.41421356237309503,
    0.4142135623730951,
    1e300,
    1e-300,
    0x1p500,
    0x1p-500,
    709.78,
    710,
    -40,
    -745,
    Math.nextDown(1.0),
    -Math.nextDown(1.0),
    Math.nextUp(1.0)
  };

  private interface FloatFunction {
    float apply(float x);
  }

  /** Returns the largest error in ulps over all floats with every 4099th bit pattern. */
  private static double worst(FloatFunction function, DoubleUnaryOperator exact) {
    double worst = 0;
    for (long bits = 0; bits < 1L << 32; bits += 4099) {
      float x = Float.intBitsToFloat((int) bits);
      worst = Math.max(worst, error(function.apply(x), exact.applyAsDouble(x), x));
    }
    return worst;
  }

  private static double error(float got, double exact, float x) {
    float rounded = (float) exact;
    if (Float.isNaN(rounded) || Float.isInfinite(rounded) || Float.isInfinite(got)) {
      boolean overflows =
          Math.abs(exact) > Float.MAX_VALUE * 0.999999
              && Math.abs(got) > Float.MAX_VALUE * 0.999999;
      assertThat(Float.compare(got, rounded) == 0 || overflows)
          .as("f(%s) = %s, got %s", x, exact, got)
          .isTrue();
      return 0;
    }
    return Math.abs(got - exact) / Math.ulp(rounded);
  }

  private static double worst(
      DoubleUnaryOperator function, DoubleUnaryOperator exact, double range) {
    var random = new Random(1);
    double worst = 0;
    for (int i = 0; i < 1_000_000; i++) {
      double x = (random.nextDouble() * 2 - 1) * Math.scalb(range, -random.nextInt(40));
      double want = exact.applyAsDouble(x);
      double got = function.applyAsDouble(x);
      if (Double.isNaN(want) || Double.isInfinite(want)) {
        assertThat(Double.compare(got, want)).as("f(%s) = %s, got %s", x, want, got).isZero();
      } else {
        worst = Math.max(worst, Math.abs(got - want) / Math.ulp(want));
      }
    }
    return worst;
  }

  @Test
  void floatsAreWithinTheirBounds() {
    assertThat(worst((FloatFunction) Exponentials::exp, StrictMath::exp)).isLessThanOrEqualTo(1.5);
    assertThat(worst((FloatFunction) Exponentials::log, StrictMath::log)).isLessThanOrEqualTo(1.5);
    assertThat(worst((FloatFunction) Exponentials::tanh, StrictMath::tanh)).isLessThanOrEqualTo(3);
    assertThat(worst((FloatFunction) Trigonometry::sin, StrictMath::sin)).isLessThanOrEqualTo(2);
    assertThat(worst((FloatFunction) Trigonometry::cos, StrictMath::cos)).isLessThanOrEqualTo(2);
  }

  @Test
  void doublesAreWithinTheirBounds() {
    assertThat(worst((DoubleUnaryOperator) Exponentials::exp, StrictMath::exp, 760))
        .isLessThanOrEqualTo(2);
    assertThat(worst((DoubleUnaryOperator) Exponentials::log, StrictMath::log, 1e300))
        .isLessThanOrEqualTo(2);
    assertThat(worst((DoubleUnaryOperator) Exponentials::tanh, StrictMath::tanh, 30))
        .isLessThanOrEqualTo(4);
  }

  record Function(
      String name, DoubleUnaryOperator library, DoubleUnaryOperator java, double bound) {
    @Override
    public String toString() {
      return name;
    }
  }

  static List<Function> functions() {
    return List.of(
        new Function("tan", Trigonometry::tan, StrictMath::tan, 3),
        new Function("atan", InverseTrigonometry::atan, StrictMath::atan, 2),
        new Function("asin", InverseTrigonometry::asin, StrictMath::asin, 3),
        new Function("acos", InverseTrigonometry::acos, StrictMath::acos, 3),
        new Function("log10", Exponentials::log10, StrictMath::log10, 2),
        new Function("log1p", Exponentials::log1p, StrictMath::log1p, 2),
        new Function("expm1", Exponentials::expm1, StrictMath::expm1, 2),
        new Function("cbrt", Roots::cbrt, StrictMath::cbrt, 1),
        new Function("toRadians", KernelMath::toRadians, Math::toRadians, 0),
        new Function("toDegrees", KernelMath::toDegrees, Math::toDegrees, 0));
  }

  @ParameterizedTest
  @MethodSource("functions")
  void functionsAreWithinTheirBounds(Function function) {
    for (double x : SPECIAL) {
      assertClose(function.name, x, function.library, function.java, function.bound);
    }
    for (double range : new double[] {1, 100, 1e6, 1e300}) {
      assertThat(worst(function.library, function.java, range)).isLessThanOrEqualTo(function.bound);
    }
  }

  @Test
  void functionsOfTwoNumbersAreWithinTheirBounds() {
    for (double y : SPECIAL) {
      for (double x : SPECIAL) {
        assertClose(
            "atan2 to " + x,
            y,
            v -> InverseTrigonometry.atan2(v, x),
            v -> StrictMath.atan2(v, x),
            2);
        assertClose("hypot to " + x, y, v -> Roots.hypot(v, x), v -> StrictMath.hypot(v, x), 1);
        assertThat(Double.compare(KernelMath.copySign(y, x), Math.copySign(y, x))).isZero();
      }
    }
    for (double x : new double[] {-3, 1e-5, 0.7, 1e6}) {
      assertThat(worst(v -> InverseTrigonometry.atan2(v, x), v -> StrictMath.atan2(v, x), 1e3))
          .isLessThanOrEqualTo(2);
      assertThat(worst(v -> Roots.hypot(v, x), v -> StrictMath.hypot(v, x), 1e3))
          .isLessThanOrEqualTo(1);
    }
  }

  @Test
  void powersOfTenAndCubesAreExact() {
    for (int i = 0; i <= 22; i++) {
      assertThat(Exponentials.log10(Double.parseDouble("1e" + i))).isEqualTo(i);
    }
    for (long i = 1; i < 100_000; i++) {
      assertThat(Roots.cbrt((double) (i * i * i))).isEqualTo((double) i);
    }
  }

  private static void assertClose(
      String name, double x, DoubleUnaryOperator library, DoubleUnaryOperator java, double bound) {
    double want = java.applyAsDouble(x);
    double got = library.applyAsDouble(x);
    boolean isClose =
        Double.compare(got, want) == 0
            || (want != 0 && got * want > 0 && Math.abs(got - want) <= bound * Math.ulp(want));
    assertThat(isClose).as("%s(%s) = %s, got %s", name, x, want, got).isTrue();
  }

  @Test
  void anglesOfEverySizeAreWithinTheirBound() {
    double[] special = {
      0,
      Double.MIN_VALUE,
      Double.MIN_NORMAL,
      0x1p20,
      1e15,
      1e17,
      1e18,
      1e20,
      1e50,
      1e300,
      6381956970095103.0 * 0x1p797,
      Double.MAX_VALUE,
      Double.POSITIVE_INFINITY,
      Double.NaN
    };
    for (double x : special) {
      assertSineAndCosine(x);
    }
    assertThat(Trigonometry.sin(-0f)).isEqualTo(-0f);
    var random = new Random(2);
    for (int exponent = -60; exponent < 1024; exponent++) {
      for (int i = 0; i < 200; i++) {
        assertSineAndCosine(Math.scalb(1 + random.nextDouble(), exponent));
      }
    }
    for (int i = 0; i < 500_000; i++) {
      assertSineAndCosine(random.nextDouble() * 4);
      assertSineAndCosine(i * (Math.PI / 2));
    }
    var quarter = new BigDecimal("1.57079632679489661923132169163975144209858469968755");
    for (int bits = 1; bits < 1000; bits++) {
      var turns = new BigDecimal(new BigInteger(Math.min(bits, 150), random).shiftLeft(bits));
      assertSineAndCosine(quarter.multiply(turns).doubleValue());
    }
  }

  private static void assertSineAndCosine(double x) {
    assertClose("sin", x, Trigonometry.sin(x), StrictMath.sin(x));
    assertClose("sin", -x, Trigonometry.sin(-x), StrictMath.sin(-x));
    assertClose("cos", x, Trigonometry.cos(x), StrictMath.cos(x));
    assertClose("cos", -x, Trigonometry.cos(-x), StrictMath.cos(-x));
  }

  /** A value is within 1 ulp, and has the sign of the exact one. */
  private static void assertClose(String function, double x, double got, double want) {
    if (Double.compare(got, want) != 0
        && !(got * want > 0 && Math.abs(got - want) <= Math.ulp(want))) {
      assertThat(got).as("%s(%s)", function, x).isEqualTo(want);
    }
  }

  @Test
  void powersAreWithinTheirBound() {
    double[] special = {
      0,
      -0.0,
      1,
      -1,
      2,
      -2,
      3,
      -3,
      0.5,
      -0.5,
      1.5,
      -2.5,
      1e300,
      -1e300,
      1e-300,
      -1e-300,
      1e18,
      1e308,
      1024,
      -1022,
      -1074,
      -1075,
      0x1p53,
      0x1p53 + 2,
      -0x1p52 - 1,
      0x1.0000000000001p0,
      0x1.fffffffffffffp-1,
      -0x1.0000000000001p0,
      Double.MIN_VALUE,
      -Double.MIN_VALUE,
      Double.MIN_NORMAL,
      Double.MAX_VALUE,
      -Double.MAX_VALUE,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      Double.NaN
    };
    for (double x : special) {
      for (double y : special) {
        assertPower(x, y);
        float got = Exponentials.pow((float) x, (float) y);
        float want = (float) StrictMath.pow((float) x, (float) y);
        assertThat(Float.compare(got, want) == 0 || Math.abs(got - want) <= Math.ulp(want))
            .as("pow(%s, %s) = %s, got %s", (float) x, (float) y, want, got)
            .isTrue();
      }
    }
    var random = new Random(3);
    for (int i = 0; i < 1_000_000; i++) {
      float x = Math.scalb(random.nextFloat(), random.nextInt(40) - 20);
      float y = (random.nextFloat() - 0.5f) * 8;
      assertThat(error(Exponentials.pow(x, y), StrictMath.pow(x, y), x))
          .as("pow(%s, %s)", x, y)
          .isLessThanOrEqualTo(1);
      double base =
          Math.scalb(1 + random.nextDouble(), random.nextInt(2 << i % 10) - (1 << i % 10));
      double range = 1076 * Math.scalb(1.0, -(i % 17)) / Math.abs(Math.log(base) / Math.log(2));
      assertPower(base, (random.nextDouble() * 2 - 1) * range);
    }
  }

  /** A power is within 1 ulp. */
  private static void assertPower(double x, double y) {
    double want = StrictMath.pow(x, y);
    double got = Exponentials.pow(x, y);
    if (Double.compare(got, want) != 0 && !(Math.abs(got - want) <= Math.ulp(want))) {
      assertThat(got).as("pow(%s, %s)", x, y).isEqualTo(want);
    }
  }

  @Test
  void powersThatAreDoublesAreExact() {
    for (int x = -100; x <= 100; x++) {
      for (int y = 0; y <= 60; y++) {
        var want = BigInteger.valueOf(x).pow(y);
        if (want.bitLength() - Math.max(0, want.getLowestSetBit()) <= 53) {
          double exact = want.doubleValue();
          assertThat(Exponentials.pow((double) x, (double) y)).as("%s^%s", x, y).isEqualTo(exact);
          if (exact != 0) {
            assertThat(Exponentials.pow(exact, 1.0)).isEqualTo(exact);
          }
        }
      }
    }
    for (int y = -1074; y <= 1023; y++) {
      assertThat(Exponentials.pow(2.0, (double) y)).isEqualTo(Math.scalb(1.0, y));
      assertThat(Exponentials.pow(Math.scalb(1.0, 2 * (y >> 1)), 0.5))
          .isEqualTo(Math.scalb(1.0, y >> 1));
    }
  }

  /** Powers do not fall as the base rises. */
  @Test
  void powersAreMonotonic() {
    for (double y : new double[] {0.5, 3, 7.25, 100}) {
      double previous = 0;
      double x = 1.7;
      for (int i = 0; i < 100_000; i++, x = Math.nextUp(x)) {
        double power = Exponentials.pow(x, y);
        assertThat(power).as("pow(%s, %s)", x, y).isGreaterThanOrEqualTo(previous);
        previous = power;
      }
    }
  }

  @Test
  void remaindersAreExact() {
    var random = new Random(4);
    double[] special = {
      0,
      -0.0,
      1,
      -1,
      5.5,
      -5.5,
      1e300,
      Double.MIN_VALUE,
      Double.MAX_VALUE,
      Double.POSITIVE_INFINITY,
      Double.NaN
    };
    for (double x : special) {
      for (double y : special) {
        assertThat(Double.compare(KernelMath.remainder(x, y), x % y)).as("%s %% %s", x, y).isZero();
        assertThat(Float.compare(KernelMath.remainder((float) x, (float) y), (float) x % (float) y))
            .as("%s %% %s", (float) x, (float) y)
            .isZero();
      }
    }
    for (int i = 0; i < 10_000; i++) {
      double x = random.nextGaussian() * 1e6;
      double y = random.nextGaussian();
      assertThat(KernelMath.remainder(x, y)).isEqualTo(x % y);
      x = Double.longBitsToDouble(random.nextLong());
      y = Double.longBitsToDouble(random.nextLong());
      assertThat(Double.compare(KernelMath.remainder(x, y), x % y)).as("%s %% %s", x, y).isZero();
    }
  }

  @Test
  void numbersAreRoundedAsInJava() {
    float[] values = {
      0, -0.5f, 0.5f, 0.49999997f, 1.5f, -1.5f, -2.5f, 8388609f, 3e9f, -3e9f, Float.NaN
    };
    for (float x : values) {
      assertThat(KernelMath.round(x)).as("round(%s)", x).isEqualTo(Math.round(x));
      assertThat(KernelMath.round((double) x)).as("round(%s)", x).isEqualTo(Math.round((double) x));
    }
    for (int x = -30; x <= 30; x++) {
      for (int y = -7; y <= 7; y++) {
        if (y != 0) {
          assertThat(KernelMath.floorMod(x, y)).isEqualTo(Math.floorMod(x, y));
          assertThat(KernelMath.floorDiv((long) x, y)).isEqualTo(Math.floorDiv((long) x, y));
        }
      }
      assertThat(KernelMath.numberOfTrailingZeros(x)).isEqualTo(Integer.numberOfTrailingZeros(x));
      assertThat(KernelMath.signum(x)).isEqualTo(Integer.signum(x));
      assertThat(KernelMath.rotateLeft(x, 5)).isEqualTo(Integer.rotateLeft(x, 5));
      assertThat(KernelMath.compareUnsigned(x, 3)).isEqualTo(Integer.compareUnsigned(x, 3));
    }
  }
}
