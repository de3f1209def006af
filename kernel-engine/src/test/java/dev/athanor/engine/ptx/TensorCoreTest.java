package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TensorCoreTest {

  private static final BigDecimal TWO = BigDecimal.valueOf(2);

  /** The model of the sums, written again with decimal numbers of any length. */
  @ParameterizedTest
  @CsvSource({"F16, sm_80", "F16, sm_90", "BF16, sm_80", "BF16, sm_90"})
  void sumsAreTruncatedAsTheModelSays(TensorCore type, String target) {
    long seed = System.nanoTime();
    var random = new Random(seed);
    for (int round = 0; round < 20; round++) {
      var a = new int[16][16];
      var b = new int[16][8];
      var c = new float[16][8];
      for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
          a[i][j] = bits(random, type);
        }
        for (int j = 0; j < 8; j++) {
          b[i][j] = bits(random, type);
          c[i][j] = (float) (random.nextGaussian() * Math.pow(2, random.nextInt(20) - 10));
        }
      }
      var d = run(type, target, a, b, c);
      for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 8; j++) {
          float sum = c[i][j];
          boolean hopper = target.equals("sm_90");
          for (int k = 0; k < 16; k += hopper ? 16 : 8) {
            sum = model(type, a[i], b, j, k, hopper ? 16 : 8, sum, hopper ? 25 : 24);
          }
          assertThat(d[i][j])
              .as("seed %d, round %d, row %d, column %d", seed, round, i, j)
              .isEqualTo(sum);
        }
      }
    }
  }

  @Test
  void whatIsNotFiniteFollowsArithmetic() {
    var a = new int[16][16];
    var b = new int[16][8];
    var c = new float[16][8];
    for (int k = 0; k < 16; k++) {
      b[k][0] = 0x3C00; // 1
    }
    a[0][3] = 0x7C00; // infinity
    a[1][3] = 0xFC00;
    a[2][3] = 0x7C00;
    a[2][4] = 0xFC00;
    a[3][3] = 0x7E00; // NaN
    c[4][0] = Float.NEGATIVE_INFINITY;
    a[6][0] = 0x3C00;
    a[6][1] = 0x0002; // 2^-23
    a[6][2] = 0x0001; // 2^-24
    b[1][0] = 0x3400; // 1/4: the product is 2^-25
    b[2][0] = 0x3400; // the product is 2^-26, which is lost
    c[6][0] = -1;
    var d = run(TensorCore.F16, "sm_90", a, b, c);
    assertThat(d[0][0]).isEqualTo(Float.POSITIVE_INFINITY);
    assertThat(d[1][0]).isEqualTo(Float.NEGATIVE_INFINITY);
    assertThat(Float.floatToRawIntBits(d[2][0])).isEqualTo(0x7FFFFFFF);
    assertThat(Float.floatToRawIntBits(d[3][0])).isEqualTo(0x7FFFFFFF);
    assertThat(d[4][0]).isEqualTo(Float.NEGATIVE_INFINITY);
    assertThat(d[5][0]).isZero();
    assertThat(d[6][0])
        .as("a finite sum beside infinite ones is truncated all the same")
        .isEqualTo(0x1p-25f);
    assertThat(Float.floatToRawIntBits(d[0][1])).as("infinity times 0").isEqualTo(0x7FFFFFFF);
  }

  @Test
  void smallProductsAreLostBesideLargeOnesOnAmpereSooner() {
    var a = new int[16][16];
    var b = new int[16][8];
    a[0][0] = 0x3C00; // 1
    b[0][0] = 0x3C00;
    a[0][1] = 0x0C00; // 2^-12
    b[1][0] = 0x0800; // 2^-13: the product is 2^-25
    var c = new float[16][8];
    c[0][0] = -1;
    assertThat(run(TensorCore.F16, "sm_80", a, b, c)[0][0]).isZero();
    assertThat(run(TensorCore.F16, "sm_90", a, b, c)[0][0]).isEqualTo(0x1p-25f);
  }

  private static int bits(Random random, TensorCore type) {
    int kind = random.nextInt(12);
    float value =
        kind == 0 ? 0 : (float) (random.nextGaussian() * Math.pow(2, random.nextInt(16) - 8));
    if (kind == 1) {
      return 1 + random.nextInt(100); // subnormal
    }
    return type == TensorCore.F16
        ? Float.floatToFloat16(value) & 0xFFFF
        : Float.floatToRawIntBits(value) >>> 16;
  }

  private static float[][] run(TensorCore type, String target, int[][] a, int[][] b, float[][] c) {
    var sources = new int[10][32];
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 8; i++) {
        var at = Fragments.A_16X16.place().at(lane, i);
        sources[i / 2][lane] |= a[at.row()][at.column()] << (16 * (i % 2));
      }
      for (int i = 0; i < 4; i++) {
        var at = Fragments.B_16X8.place().at(lane, i);
        sources[4 + i / 2][lane] |= b[at.row()][at.column()] << (16 * (i % 2));
        var atC = Fragments.C_16X8.place().at(lane, i);
        sources[6 + i][lane] = Float.floatToRawIntBits(c[atC.row()][atC.column()]);
      }
    }
    var results = new int[4][32];
    type.m16n8k16(
        new WarpFunction.Call(new Modifiers(java.util.List.of()), Target.of(target), -1),
        sources,
        results);
    var d = new float[16][8];
    for (int lane = 0; lane < Fragment.LANES; lane++) {
      for (int i = 0; i < 4; i++) {
        var at = Fragments.C_16X8.place().at(lane, i);
        d[at.row()][at.column()] = Float.intBitsToFloat(results[i][lane]);
      }
    }
    return d;
  }

  private static float model(
      TensorCore type, int[] a, int[][] b, int column, int from, int depth, float c, int fraction) {
    int smallest = type == TensorCore.F16 ? -14 : -126;
    int greatest = c == 0 ? -126 : Math.max(Math.getExponent(c), -126);
    for (int k = from; k < from + depth; k++) {
      greatest =
          Math.max(
              greatest,
              exponent(type.value(a[k]), smallest) + exponent(type.value(b[k][column]), smallest));
    }
    int power = greatest - fraction;
    var unit = power >= 0 ? TWO.pow(power) : BigDecimal.ONE.divide(TWO.pow(-power));
    var sum = units(new BigDecimal(c), unit);
    for (int k = from; k < from + depth; k++) {
      sum =
          sum.add(
              units(
                  new BigDecimal(type.value(a[k]))
                      .multiply(new BigDecimal(type.value(b[k][column]))),
                  unit));
    }
    var exact = sum.multiply(unit);
    float nearest = exact.floatValue();
    return new BigDecimal(nearest).abs().compareTo(exact.abs()) > 0
        ? Math.nextAfter(nearest, 0)
        : nearest;
  }

  private static int exponent(float value, int smallest) {
    return value == 0 ? -126 : Math.max(Math.getExponent(value), smallest);
  }

  private static BigDecimal units(BigDecimal value, BigDecimal unit) {
    return value.divide(unit, 0, RoundingMode.DOWN);
  }
}
