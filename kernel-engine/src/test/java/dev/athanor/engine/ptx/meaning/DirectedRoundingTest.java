package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Modifier.Rounding;
import java.math.BigDecimal;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Results of directed rounding are adjacent to the exact result, on the correct side. */
class DirectedRoundingTest {

  private static final int ROUNDS = 20_000;
  private final Random random = new Random(7);

  /** Compares a result with the exact one, as a sign. */
  private interface Exact {
    int sign(double result);
  }

  @Test
  void fmaAddAndMul() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = number();
      double b = number();
      double c = number();
      var product = new BigDecimal(a).multiply(new BigDecimal(b));
      var fused = product.add(new BigDecimal(c));
      var sum = new BigDecimal(a).add(new BigDecimal(c));
      check(r -> new BigDecimal(r).compareTo(product), way -> DirectedRounding.mul(a, b, way));
      check(r -> new BigDecimal(r).compareTo(fused), way -> DirectedRounding.fma(a, b, c, way));
      check(r -> new BigDecimal(r).compareTo(sum), way -> DirectedRounding.add(a, c, way));
    }
  }

  @Test
  void divAndSqrt() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = number();
      double b = number();
      var divisor = new BigDecimal(Math.abs(b));
      var dividend = new BigDecimal(b < 0 ? -a : a);
      check(
          r -> new BigDecimal(r).multiply(divisor).compareTo(dividend),
          way -> DirectedRounding.div(a, b, way));
      var square = new BigDecimal(Math.abs(a));
      check(
          r -> r < 0 ? -1 : new BigDecimal(r).multiply(new BigDecimal(r)).compareTo(square),
          way -> DirectedRounding.sqrt(Math.abs(a), way));
    }
  }

  @Test
  void zerosAndOverflow() {
    assertThat(1 / DirectedRounding.add(1, -1, Rounding.RM)).isEqualTo(Double.NEGATIVE_INFINITY);
    assertThat(1 / DirectedRounding.add(1, -1, Rounding.RP)).isEqualTo(Double.POSITIVE_INFINITY);
    assertThat(DirectedRounding.mul(1e300, 1e300, Rounding.RZ)).isEqualTo(Double.MAX_VALUE);
    assertThat(DirectedRounding.mul(-1e300, 1e300, Rounding.RM))
        .isEqualTo(Double.NEGATIVE_INFINITY);
    assertThat(DirectedRounding.mul(1e-300, 1e-300, Rounding.RP)).isEqualTo(Double.MIN_VALUE);
    assertThat(DirectedRounding.narrow(1e300, Rounding.RM)).isEqualTo(Float.MAX_VALUE);
  }

  private interface Operation {
    double in(Rounding rounding);
  }

  private static void check(Exact exact, Operation operation) {
    double down = operation.in(Rounding.RM);
    double up = operation.in(Rounding.RP);
    assertThat(Double.isInfinite(down) || exact.sign(down) <= 0).as("%s is below", down).isTrue();
    assertThat(Double.isInfinite(up) || exact.sign(up) >= 0).as("%s is above", up).isTrue();
    if (down == up) {
      return;
    }
    assertThat(Math.nextUp(down)).as("neighbors").isEqualTo(up);
    assertThat(Double.isInfinite(down) || exact.sign(down) != 0).isTrue();
    assertThat(operation.in(Rounding.RZ)).isEqualTo(down >= 0 ? down : up);
  }

  /** Returns a number mostly near 1, sometimes of any magnitude, with few or many digits. */
  private double number() {
    double size = Math.scalb(1 + random.nextDouble(), random.nextInt(120) - 60);
    if (random.nextInt(3) == 0) {
      size = Double.longBitsToDouble(random.nextLong() & Long.MAX_VALUE);
      size = Double.isFinite(size) && size != 0 ? size : Double.MIN_VALUE;
    }
    return random.nextBoolean() ? size : -size;
  }
}
