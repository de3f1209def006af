package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sample kernels with bf16 and f16 data and f32 arithmetic. */
class NormSamplesTest {

  private static final String FAST = "k04_softmax_norm.fast.sm_80";

  static List<Way> ways() {
    return SampleRig.ways("k04_softmax_norm.sm_80", "k04_softmax_norm.sm_90a", FAST);
  }

  @ParameterizedTest
  @MethodSource("ways")
  void layerNorm(Way way) {
    int rows = 3;
    int n = 300;
    float eps = 1e-5f;
    var x = HopperSamplesTest.bfloats(SampleRunsTest.random(rows * n, 80));
    var weights = HopperSamplesTest.bfloats(SampleRunsTest.random(n, 81));
    var bias = HopperSamplesTest.bfloats(SampleRunsTest.random(n, 82));
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new short[x.length]);
      rig.run(
          "layernorm_bf16",
          Dim3.of(rows),
          Dim3.of(96),
          0,
          rig.buffer(x),
          rig.buffer(weights),
          rig.buffer(bias),
          out,
          n,
          eps);
      var y = rig.shorts(out);
      for (int row = 0; row < rows; row++) {
        double mean = 0;
        double squares = 0;
        for (int i = row * n; i < (row + 1) * n; i++) {
          mean += HopperSamplesTest.number(x[i]) / n;
          squares += Math.pow(HopperSamplesTest.number(x[i]), 2) / n;
        }
        double scale = 1 / Math.sqrt(squares - mean * mean + eps);
        for (int i = 0; i < n; i++) {
          double expected =
              (HopperSamplesTest.number(x[row * n + i]) - mean)
                      * scale
                      * HopperSamplesTest.number(weights[i])
                  + HopperSamplesTest.number(bias[i]);
          // half an ulp of bf16, and the f32 error if the terms cancel
          double half = 0x1p15 * Math.ulp((float) expected);
          assertThat((double) HopperSamplesTest.number(y[row * n + i]))
              .as("row %d, element %d", row, i)
              .isCloseTo(expected, within(1.01 * half + 2e-6));
        }
      }
    }
  }

  /** All steps are in f16 except the tangent, whose error can only select a neighbor. */
  @ParameterizedTest
  @MethodSource("ways")
  void gelu(Way way) {
    int pairs = 250;
    var numbers = SampleRunsTest.random(2 * pairs, 83);
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] *= 6;
    }
    var x = HopperSamplesTest.halves(numbers);
    double error = way.file().equals(FAST) ? 0x1p-11 : 0x1p-22;
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new short[x.length]);
      rig.run("gelu_half2", Dim3.of(4), Dim3.of(64), 0, rig.buffer(x), out, pairs);
      var y = rig.shorts(out);
      for (int i = 0; i < x.length; i++) {
        double v = Float.float16ToFloat(x[i]);
        double cubic = rounded(rounded(v * v) * rounded(0.035677408) + rounded(0.79788456));
        double tangent = Math.tanh(rounded(v * cubic));
        double a = rounded(rounded(v * 0.5) * rounded(rounded(tangent * (1 - error)) + 1));
        double b = rounded(rounded(v * 0.5) * rounded(rounded(tangent * (1 + error)) + 1));
        assertThat((double) Float.float16ToFloat(y[i]))
            .as("gelu %s", v)
            .isBetween(Math.min(a, b), Math.max(a, b));
      }
    }
  }

  /** Rounds to nearest f16, by way of an f32 rounded to odd. */
  private static double rounded(double number) {
    float near = (float) number;
    int bits = Float.floatToRawIntBits(near);
    if (near != number) {
      bits = (Math.abs((double) near) > Math.abs(number) ? bits - 1 : bits) | 1;
    }
    return Float.float16ToFloat(Float.floatToFloat16(Float.intBitsToFloat(bits)));
  }
}
