package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares {@link Decimals} with the parsers of Java. */
class DecimalsTest {

  private static final BigInteger MAX_DIGITS =
      BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

  /** NaN is allowed for numbers that are not normal, and for floats halfway between two values. */
  private static void check(long digits, int exponent) {
    var text = Long.toUnsignedString(digits) + "e" + exponent;
    double expected = Double.parseDouble(text);
    double got = Decimals.toDouble(digits, exponent);
    boolean normal = expected >= Double.MIN_NORMAL && expected <= Double.MAX_VALUE / 2;
    if (normal || digits == 0 || !Double.isNaN(got)) {
      equal(text, got, expected);
    }
    float rounded = Float.parseFloat(text);
    float small = Decimals.toFloat(digits, exponent);
    boolean halfway = (Double.doubleToRawLongBits(expected) & 0x1FFF_FFFF) == 0x1000_0000;
    boolean plain = rounded > Float.MIN_NORMAL && rounded < Float.MAX_VALUE && !halfway;
    if (plain || digits == 0 || !Float.isNaN(small)) {
      equal(text, small, rounded);
    }
  }

  /** Avoids an AssertJ assertion for each of millions of numbers, which would be slow. */
  private static void equal(String text, double got, double expected) {
    if (got != expected) {
      assertThat(got).as(text).isEqualTo(expected);
    }
  }

  @Test
  void roundsRandomDigitsOnce() {
    var random = new Random(1);
    for (int i = 0; i < 200_000; i++) {
      long digits = random.nextLong() >>> random.nextInt(64);
      check(digits, random.nextInt(700) - 360);
      check(digits, random.nextInt(60) - 40);
    }
  }

  @Test
  void convertsAllPowersOfTen() {
    for (int exponent = -400; exponent <= 400; exponent++) {
      for (long digits : new long[] {0, 1, 3, 9, (1L << 53) - 1, 1L << 53, Long.MAX_VALUE, -1}) {
        check(digits, exponent);
      }
    }
  }

  /** Tests numbers of up to 64 bits that are doubles or lie halfway between two. */
  @ParameterizedTest
  @ValueSource(ints = {24, 25, 26, 53, 54, 55})
  @Tag(TestTier.THOROUGH_TAG)
  void roundsHalfwayCasesToEven(int bits) {
    var random = new Random(bits);
    for (int i = 0; i < 20_000; i++) {
      var odd = new BigInteger(bits, random).setBit(bits - 1).setBit(0);
      for (var next : new int[] {-1, 0, 1}) {
        int twos = random.nextInt(65 - bits);
        var number = odd.shiftLeft(twos).add(BigInteger.valueOf(next));
        for (int exponent = 0; number.compareTo(MAX_DIGITS) <= 0; exponent--) {
          check(number.longValue(), exponent);
          number = number.multiply(BigInteger.TEN);
        }
      }
      // divided by powers of two, written in decimal digits
      var fraction = odd;
      for (int exponent = -1; exponent > -6; exponent--) {
        fraction = fraction.multiply(BigInteger.valueOf(5));
        if (fraction.compareTo(MAX_DIGITS) <= 0) {
          check(fraction.longValue(), exponent);
        }
      }
      // times powers of ten, by which the digits are divided
      for (int fives = 1; fives < 24; fives++) {
        var divided = odd.shiftLeft(64 - bits).divideAndRemainder(BigInteger.valueOf(5).pow(fives));
        check(divided[0].longValue(), fives);
      }
    }
  }

  @Test
  void parsesShortestTextsExactly() {
    var random = new Random(2);
    var numbers = IntStream.range(0, 100_000).mapToObj(_ -> random.nextLong());
    numbers.forEach(bits -> {
      double value = Math.abs(Double.longBitsToDouble(bits));
      if (value >= Double.MIN_NORMAL && value <= Double.MAX_VALUE / 2) {
        var text = new BigDecimal(Double.toString(value));
        assertThat(Decimals.toDouble(text.unscaledValue().longValue(), -text.scale()))
            .isEqualTo(value);
      }
    });
  }

  @Test
  void returnsNaNForUnsupportedNumbers() {
    assertThat(Decimals.toDouble(1, -308)).isNaN();
    assertThat(Decimals.toDouble(1, -400)).isNaN();
    assertThat(Decimals.toDouble(2, 308)).isNaN();
    assertThat(Decimals.toDouble(1, 309)).isNaN();
    assertThat(Decimals.toFloat(1, -39)).isNaN();
    assertThat(Decimals.toFloat(4, 38)).isNaN();
    assertThat(Decimals.toFloat(16777217, 0)).isNaN();
  }
}
