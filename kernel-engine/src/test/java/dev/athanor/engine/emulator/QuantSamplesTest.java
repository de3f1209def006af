package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sample kernels with 8-bit and 4-bit numbers. */
class QuantSamplesTest {

  static List<Way> ways() {
    return SampleRig.ways("k09_quant.sm_80", "k09_quant.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("ways")
  void byteDotProducts(Way way) {
    int rows = 3;
    int words = 80;
    var weights = new byte[4 * rows * words];
    var x = new byte[4 * words];
    new Random(65).nextBytes(weights);
    new Random(66).nextBytes(x);
    var expected = new int[rows];
    for (int i = 0; i < weights.length; i++) {
      expected[i / x.length] += weights[i] * x[i % x.length];
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[rows]);
      rig.run(
          "dp4a_gemv",
          Dim3.of(rows),
          Dim3.of(32),
          0,
          rig.buffer(weights),
          rig.buffer(x),
          out,
          words);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  /** Converts by an instruction, or in software if the target has none. */
  @ParameterizedTest
  @MethodSource("ways")
  void int8RoundTrip(Way way) {
    var in = new float[600];
    var random = new Random(67);
    for (int i = 0; i < in.length; i++) {
      in[i] = (float) Math.scalb(random.nextGaussian(), random.nextInt(24) - 13);
    }
    // ties, and the limits of subnormal and finite numbers
    var special =
        new float[] {
          0, -0f, 1.0625f, 1.1875f, 0x1p-10f, -0x3p-10f, 0x1p-9f, 0x1p-6f, 448, 464, 465, -1e9f
        };
    System.arraycopy(special, 0, in, 0, special.length);
    in[special.length] = Float.POSITIVE_INFINITY;
    in[special.length + 1] = Float.NEGATIVE_INFINITY;
    in[special.length + 2] = Float.NaN;
    var raw = new byte[in.length];
    var expected = new float[in.length];
    for (int i = 0; i < in.length; i++) {
      raw[i] = (byte) nearest(in[i]);
      expected[i] = e4m3(raw[i]);
    }
    try (var rig = new SampleRig(way)) {
      int pairs = in.length / 2;
      var out = rig.buffer(new float[in.length]);
      var bits = rig.buffer(new byte[in.length]);
      rig.run("fp8_roundtrip", Dim3.of(5), Dim3.of(64), 0, rig.buffer(in), out, bits, pairs);
      assertThat(rig.bytes(bits)).isEqualTo(raw);
      assertThat(rig.floats(out)).isEqualTo(expected);
    }
  }

  /** Decodes e4m3: bias 7, no infinity, NaN is all ones. */
  static float e4m3(int bits) {
    int exponent = bits >> 3 & 15;
    int fraction = bits & 7;
    float size =
        (bits & 127) == 127
            ? Float.NaN
            : exponent == 0
                ? Math.scalb(fraction, -9)
                : Math.scalb(1 + fraction / 8f, exponent - 7);
    return (bits & 128) == 0 ? size : -size;
  }

  /** Returns the nearest number, ties to even, saturated to the largest. */
  private static int nearest(float number) {
    if (Float.isNaN(number)) {
      return 127;
    }
    double size = Math.min(Math.abs(number), 448.0);
    int best = 0;
    for (int bits = 1; bits < 127; bits++) {
      double error = Math.abs(e4m3(bits) - size);
      double least = Math.abs(e4m3(best) - size);
      if (error < least || (error == least && bits % 2 == 0)) {
        best = bits;
      }
    }
    return best | (Float.floatToRawIntBits(number) < 0 ? 128 : 0);
  }

  /** Products rounded to f16, and f32 sums in program order. */
  @ParameterizedTest
  @MethodSource("ways")
  void int4Weights(Way way) {
    int rows = 3;
    int words = 83; // different in each lane
    var weights = new Random(68).ints((long) rows * words).toArray();
    var x = HopperSamplesTest.halves(SampleRunsTest.random(8 * words, 69));
    var scales = HopperSamplesTest.halves(SampleRunsTest.random(rows, 70));
    var expected = new float[rows];
    for (int row = 0; row < rows; row++) {
      var lanes = new float[32];
      for (int i = 0; i < words; i++) {
        for (int j = 0; j < 4; j++) {
          int pair = weights[row * words + i] >>> (4 * j);
          lanes[i % 32] +=
              product(pair & 15, x[8 * i + 2 * j])
                  + product(pair >>> 16 & 15, x[8 * i + 2 * j + 1]);
        }
      }
      for (int offset = 16; offset > 0; offset /= 2) {
        var before = lanes.clone();
        for (int lane = 0; lane < 32; lane++) {
          lanes[lane] = before[lane] + before[lane ^ offset];
        }
      }
      expected[row] = lanes[0] * Float.float16ToFloat(scales[row]);
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[rows]);
      rig.run(
          "w4a16_gemv",
          Dim3.of(rows),
          Dim3.of(32),
          0,
          rig.buffer(weights),
          rig.buffer(x),
          rig.buffer(scales),
          out,
          words);
      assertThat(rig.floats(out)).isEqualTo(expected);
    }
  }

  /** Returns the f16 product of an activation and (4 bits - 8). */
  private static float product(int bits, short x) {
    return Float.float16ToFloat(Float.floatToFloat16((bits - 8) * Float.float16ToFloat(x)));
  }
}
