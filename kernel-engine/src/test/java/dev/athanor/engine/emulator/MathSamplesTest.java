package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** CUDA math functions compiled by nvcc, within their documented errors. */
class MathSamplesTest {

  static List<Way> precise() {
    return SampleRig.ways("k12_math.sm_80", "k12_math.sm_90a");
  }

  static List<Way> fast() {
    return SampleRig.ways("k12_math.fast.sm_80");
  }

  static List<Way> all() {
    return SampleRig.ways("k12_math.sm_80", "k12_math.sm_90a", "k12_math.fast.sm_80");
  }

  private static void expect(String what, float found, double expected, double ulps) {
    assertThat((double) found)
        .as("%s", what)
        .isCloseTo(expected, within((ulps + 0.5) * Math.ulp((float) expected)));
  }

  @ParameterizedTest
  @MethodSource("precise")
  void functionsOfFloats(Way way) {
    var x = floats(100, 60);
    for (int i = 0; i < x.length; i += 2) {
      x[i] /= 16; // where erf and tanh have not saturated
    }
    var y = mathf(way, x);
    for (int i = 0; i < x.length; i++) {
      double v = x[i];
      expect("sinf " + v, y[16 * i], Math.sin(v), 2);
      expect("cosf " + v, y[16 * i + 1], Math.cos(v), 2);
      expect("powf " + v, y[16 * i + 2], Math.pow(Math.abs(v), 1.7f), 4);
      expect("logf " + v, y[16 * i + 3], Math.log(Math.abs(v)), 1);
      expect("erff " + v, y[16 * i + 4], erf(v), 2);
      expect("expm1f " + v, y[16 * i + 5], Math.expm1(v), 1);
      expect("cbrtf " + v, y[16 * i + 14], Math.cbrt(v), 1);
      expect("tanhf " + v, y[16 * i + 15], Math.tanh(v), 2);
      assertThat(y[16 * i + 6]).as("fmodf %s", v).isEqualTo(x[i] % 3.3f);
      assertThat(y[16 * i + 7]).as("1 / %s", v).isEqualTo(1 / x[i]);
      assertThat(y[16 * i + 8]).as("sqrtf %s", v).isEqualTo((float) Math.sqrt(Math.abs(v)));
      expectIntrinsics(v, y, 16 * i);
    }
  }

  /** With fast math, functions have only some correct bits. */
  @ParameterizedTest
  @MethodSource("fast")
  void fastFunctionsOfFloats(Way way) {
    var x = floats(100, 61);
    for (int i = 0; i < x.length; i++) {
      x[i] /= 8; // in ±2π
    }
    var y = mathf(way, x);
    for (int i = 0; i < x.length; i++) {
      double v = x[i];
      assertThat((double) y[16 * i]).as("sin %s", v).isCloseTo(Math.sin(v), within(0x1p-20));
      assertThat((double) y[16 * i + 1]).as("cos %s", v).isCloseTo(Math.cos(v), within(0x1p-20));
      expectPower(v, y[16 * i + 2]);
      expectLog(v, y[16 * i + 3]);
      expect("erff " + v, y[16 * i + 4], erf(v), 2);
      expect("expm1f " + v, y[16 * i + 5], Math.expm1(v), 1);
      assertThat(y[16 * i + 6]).as("fmodf %s", v).isEqualTo(x[i] % 3.3f);
      expect("1 / " + v, y[16 * i + 7], 1 / v, 1);
      expect("sqrtf " + v, y[16 * i + 8], Math.sqrt(Math.abs(v)), 1);
      expect("cbrtf " + v, y[16 * i + 14], Math.cbrt(v), 1);
      assertThat((double) y[16 * i + 15])
          .as("tanh %s", v)
          .isCloseTo(Math.tanh(v), within(0x1p-11 * Math.abs(Math.tanh(v))));
      expectIntrinsics(v, y, 16 * i);
    }
  }

  private static float[] mathf(Way way, float[] x) {
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[16 * x.length]);
      rig.run("mathf", Dim3.of(2), Dim3.of(64), 0, rig.buffer(x), out, x.length);
      return rig.floats(out);
    }
  }

  /** Checks intrinsics of one or two instructions, with the errors of PTX ISA 9.7.3. */
  private static void expectIntrinsics(double v, float[] y, int at) {
    double error = Math.abs(v) < 2 * Math.PI ? 0x1p-20 : 0x1p-14;
    assertThat((double) y[at + 9]).as("sin %s", v).isCloseTo(Math.sin(v), within(error));
    expectLog(v, y[at + 10]);
    expectPower(v, y[at + 11]);
    expect(v + " / 3", y[at + 12], v / 3, 2);
    assertThat(y[at + 13]).as("rintf %s", v).isEqualTo((float) Math.rint(v));
  }

  /** Checks a base-2 logarithm times a constant. */
  private static void expectLog(double v, float found) {
    double log = Math.log(Math.abs(v));
    assertThat((double) found)
        .as("log %s", v)
        .isCloseTo(log, within(0x1p-21 * Math.max(1, Math.abs(log))));
  }

  /** Checks a power of 2, whose exponent has the errors of a logarithm and a product. */
  private static void expectPower(double v, float found) {
    double exponent = 1.7f * Math.log(Math.abs(v)) / Math.log(2);
    double power = Math.pow(2, exponent);
    assertThat((double) found)
        .as("pow %s", v)
        .isCloseTo(power, within(power * 0x1p-21 * (1 + Math.abs(exponent))));
  }

  /** Returns the error function by its series of positive terms (DLMF 7.6.2). */
  private static double erf(double x) {
    if (Math.abs(x) > 6) {
      return Math.signum(x);
    }
    double term = x;
    double sum = x;
    for (int i = 1; Math.abs(term) > Math.ulp(sum); i++) {
      term *= 2 * x * x / (2 * i + 1);
      sum += term;
    }
    return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
  }

  @ParameterizedTest
  @MethodSource("all")
  void functionsOfDoubles(Way way) {
    var x = new Random(62).doubles(70, -20, 20).toArray();
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new double[4 * x.length]);
      rig.run("mathd", Dim3.of(2), Dim3.of(64), 0, rig.buffer(x), out, x.length);
      var y = rig.doubles(out);
      for (int i = 0; i < x.length; i++) {
        double exp = Math.exp(x[i]);
        assertThat(y[4 * i]).isCloseTo(exp, within(2 * Math.ulp(exp)));
        assertThat(y[4 * i + 1]).isEqualTo(x[i] / 3);
        assertThat(y[4 * i + 2]).isEqualTo(Math.sqrt(Math.abs(x[i])));
        double sin = Math.sin(x[i]);
        assertThat(y[4 * i + 3]).isCloseTo(sin, within(3 * Math.ulp(sin)));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("all")
  void integersOf64Bits(Way way) {
    var a = new Random(63).longs(70).toArray();
    var b = new Random(64).longs(70, 1, 1L << 40).toArray();
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new long[4 * a.length]);
      rig.run("ints", Dim3.of(2), Dim3.of(64), 0, rig.buffer(a), rig.buffer(b), out, a.length);
      var y = rig.longs(out);
      for (int i = 0; i < a.length; i++) {
        assertThat(y[4 * i]).isEqualTo(a[i] / b[i]);
        assertThat(y[4 * i + 1]).isEqualTo(a[i] % b[i]);
        assertThat(y[4 * i + 2]).isEqualTo(Math.unsignedMultiplyHigh(a[i], b[i]));
        assertThat(y[4 * i + 3])
            .isEqualTo(
                (a[i] << (b[i] & 63))
                    ^ ((int) a[i] / 7)
                    ^ Integer.remainderUnsigned((int) a[i], 10));
      }
    }
  }

  private static float[] floats(int count, long seed) {
    var values = SampleRunsTest.random(count, seed);
    for (int i = 0; i < count; i++) {
      values[i] *= 40;
    }
    return values;
  }
}
