package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Gluon kernels compiled by Triton are correct under every schedule and timing, without sanitizer
 * reports. The last two arguments of each are Triton's scratch memory, which none uses.
 */
class GluonSamplesTest {

  private static final Dim3 BLOCK = Dim3.of(128);

  static List<Way> product() {
    return SampleRig.ways("gluon/product.sm_90");
  }

  /** Matrices in registers are stored to shared memory, where {@code wgmma} reads them. */
  @ParameterizedTest
  @MethodSource
  void product(Way way) {
    int edge = 64;
    int depth = 256;
    var a = halves(edge * depth, 1);
    var b = halves(depth * edge, 2);
    try (var rig = new SampleRig(way, Sanitize.FULL)) {
      var c = rig.buffer(new float[edge * edge]);
      rig.run("product", Dim3.of(1), BLOCK, 16_384, rig.buffer(a), rig.buffer(b), c, 0L, 0L);
      var results = rig.floats(c);
      for (int row = 0; row < edge; row++) {
        for (int column = 0; column < edge; column++) {
          double sum = 0;
          for (int k = 0; k < depth; k++) {
            sum +=
                (double) Float.float16ToFloat(a[row * depth + k])
                    * Float.float16ToFloat(b[k * edge + column]);
          }
          assertThat((double) results[row * edge + column]).isCloseTo(sum, within(1e-4 * depth));
        }
      }
    }
  }

  static List<Way> pipeline() {
    return SampleRig.ways("gluon/pipeline.sm_80", "gluon/pipeline.sm_90");
  }

  /** Three stages of asynchronous copies, the last partly or fully masked. */
  @ParameterizedTest
  @MethodSource
  void pipeline(Way way) {
    int n = 2600;
    var x = SampleRig.randomFloats(n, 3);
    var expected = new float[n];
    for (int i = 0; i < n; i++) {
      expected[i] = Math.fma(x[i], 2, 1);
    }
    try (var rig = new SampleRig(way, Sanitize.FULL)) {
      var y = rig.buffer(new float[n]);
      rig.run("pipeline", Dim3.of(1), BLOCK, 6144, rig.buffer(x), y, n, 0L, 0L);
      assertThat(rig.floats(y)).isEqualTo(expected);
    }
  }

  static List<Way> softmax() {
    return SampleRig.schedules("gluon/softmax.sm_80", "gluon/softmax.sm_90");
  }

  @ParameterizedTest
  @MethodSource
  void softmax(Way way) {
    int rows = 2;
    int n = 1000;
    var x = SampleRig.randomFloats(rows * n, 4);
    try (var rig = new SampleRig(way, Sanitize.FULL)) {
      var y = rig.buffer(new float[rows * n]);
      rig.run("softmax", Dim3.of(rows), BLOCK, 16, rig.buffer(x), y, n, 0L, 0L);
      var results = rig.floats(y);
      for (int row = 0; row < rows; row++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
          sum += Math.exp(x[row * n + i]);
        }
        for (int i = row * n; i < (row + 1) * n; i++) {
          assertThat((double) results[i]).isCloseTo(Math.exp(x[i]) / sum, within(1e-8));
        }
      }
    }
  }

  private static short[] halves(int n, long seed) {
    var values = SampleRig.randomFloats(n, seed);
    var halves = new short[n];
    for (int i = 0; i < n; i++) {
      halves[i] = Float.floatToFloat16(values[i]);
    }
    return halves;
  }
}
