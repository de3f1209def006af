package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.meaning.SlowTensorCore;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Matrix kernels compiled by nvcc, bit by bit. */
class MatrixSamplesTest {

  /** Returns files and targets that can run them. */
  static Stream<Arguments> halves() {
    return SampleRig.ways("k06_wmma.sm_80", "k06_wmma.sm_90a").stream()
        .flatMap(way ->
            Stream.of("sm_80", "sm_90a")
                .filter(target -> way.file().endsWith("sm_80") || target.equals("sm_90a"))
                .map(target -> Arguments.of(way, target)));
  }

  /** An f16 product with the sums of each architecture. */
  @ParameterizedTest
  @MethodSource("halves")
  void productsOfHalves(Way way, String target) {
    int fraction = target.equals("sm_80") ? 24 : 25;
    int depth = target.equals("sm_80") ? 8 : 16;
    int m = 16;
    int n = 32;
    int k = 48;
    long seed = TestTier.seed();
    var random = new Random(seed);
    var a = halves(random, m * k);
    var b = halves(random, n * k);
    float[] c;
    try (var rig = new SampleRig(way, Target.of(target))) {
      var out = rig.buffer(new float[m * n]);
      var grid = new Dim3(1, n / 16, 1);
      rig.run("wmma_gemm", grid, Dim3.of(32), 0, rig.buffer(a), rig.buffer(b), out, m, n, k);
      c = rig.floats(out);
    }
    var core = new SlowTensorCore(fraction, SlowTensorCore.Format.F32, -14, -14);
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int l = 0; l < k; l += depth) {
          var x = new double[depth];
          var y = new double[depth];
          for (int block = 0; block < depth; block++) {
            x[block] = Float.float16ToFloat(a[i * k + l + block]);
            y[block] = Float.float16ToFloat(b[j * k + l + block]);
          }
          sum = core.add(x, y, sum);
        }
        assertThat(c[i * n + j])
            .as("seed %d, row %d, column %d", seed, i, j)
            .isEqualTo((float) sum);
      }
    }
  }

  static List<Way> bytes() {
    return SampleRig.ways("k09_quant.sm_80", "k09_quant.sm_90a");
  }

  /** A product of bytes whose fragments the kernel loads directly from memory. */
  @ParameterizedTest
  @MethodSource("bytes")
  void productOfBytes(Way way) {
    var random = new Random(1);
    var a = new byte[16 * 32];
    var b = new byte[32 * 8];
    random.nextBytes(a);
    random.nextBytes(b);
    int[] d;
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[16 * 8]);
      rig.run("imma", Dim3.of(1), Dim3.of(32), 0, rig.buffer(a), rig.buffer(b), out);
      d = rig.ints(out);
    }
    var rowsOfA = new int[16][32];
    var rowsOfB = new int[32][8];
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 16; i++) {
        var at = Fragments.a(16, 32, 8).at(lane, i);
        rowsOfA[at.row()][at.column()] = a[16 * lane + i];
      }
      for (int i = 0; i < 8; i++) {
        var at = Fragments.b(32, 8).at(lane, i);
        rowsOfB[at.row()][at.column()] = b[8 * lane + i];
      }
    }
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 4; i++) {
        var at = Fragments.c(16).at(lane, i);
        int sum = 0;
        for (int k = 0; k < 32; k++) {
          sum += rowsOfA[at.row()][k] * rowsOfB[k][at.column()];
        }
        assertThat(d[4 * lane + i]).as("lane %d, element %d", lane, i).isEqualTo(sum);
      }
    }
  }

  private static short[] halves(Random random, int count) {
    var values = new short[count];
    for (int i = 0; i < count; i++) {
      values[i] =
          Float.floatToFloat16((float) Math.scalb(random.nextGaussian(), random.nextInt(12) - 6));
    }
    return values;
  }
}
