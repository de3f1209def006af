package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Kernels compiled by nvcc give the same results as Java, bit by bit if the program fixes the
 * order, for every target, schedule and timing.
 */
class SampleRunsTest {

  static List<Way> saxpy() {
    return SampleRig.ways("k01_saxpy.sm_80", "k01_saxpy.sm_90a");
  }

  @ParameterizedTest
  @MethodSource
  void saxpy(Way way) {
    int n = 300;
    var x = random(n, 1);
    var y = random(n, 2);
    var expected = new float[n];
    for (int i = 0; i < n; i++) {
      expected[i] = Math.fma(2.5f, x[i], y[i]);
    }
    try (var rig = new SampleRig(way)) {
      var result = rig.buffer(y);
      rig.run("saxpy", Dim3.of(3), Dim3.of(128), 0, n, 2.5f, rig.buffer(x), result);
      assertThat(rig.floats(result)).isEqualTo(expected);
      var quads = rig.buffer(y);
      rig.run("saxpy_gs", Dim3.of(2), Dim3.of(32), 0, n / 4, 2.5f, rig.buffer(x), quads);
      assertThat(rig.floats(quads)).isEqualTo(expected);
    }
  }

  static List<Way> reduce() {
    return SampleRig.ways("k02_reduce.sm_80", "k02_reduce.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("reduce")
  void sumInKernelOrder(Way way) {
    int n = 1000;
    int blocks = 2;
    int threads = 96;
    var in = random(n, 7);
    var expected = new float[blocks];
    for (int block = 0; block < blocks; block++) {
      var own = new float[threads];
      for (int t = 0; t < threads; t++) {
        for (int i = block * threads + t; i < n; i += blocks * threads) {
          own[t] += in[i];
        }
      }
      var warps = new float[32];
      for (int warp = 0; warp < threads / 32; warp++) {
        warps[warp] = shuffleDown(java.util.Arrays.copyOfRange(own, 32 * warp, 32 * warp + 32));
      }
      expected[block] = shuffleDown(warps);
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[blocks]);
      rig.run("reduce_sum", Dim3.of(blocks), Dim3.of(threads), 0, rig.buffer(in), out, n);
      assertThat(rig.floats(out)).isEqualTo(expected);
    }
  }

  /**
   * Returns lane 0 of a tree of {@code shfl.down}; a lane beyond the last receives its own value.
   */
  private static float shuffleDown(float[] lanes) {
    for (int offset = 16; offset > 0; offset /= 2) {
      var next = lanes.clone();
      for (int lane = 0; lane < 32; lane++) {
        next[lane] = lanes[lane] + lanes[lane + offset < 32 ? lane + offset : lane];
      }
      lanes = next;
    }
    return lanes[0];
  }

  @ParameterizedTest
  @MethodSource("reduce")
  void treeReductionInDynamicSharedMemory(Way way) {
    int n = 1000;
    var in = new Random(8).ints(n, -1000, 1000).toArray();
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(0);
      rig.run("reduce_tree", Dim3.of(8), Dim3.of(128), 512, rig.buffer(in), out, n);
      assertThat(rig.ints(out)).containsExactly(java.util.Arrays.stream(in).sum());
    }
  }

  static List<Way> matmul() {
    return SampleRig.ways("k03_matmul_tiled.sm_80", "k03_matmul_tiled.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("matmul")
  void tiledMatrixProduct(Way way) {
    int m = 20;
    int n = 33;
    int k = 41;
    var a = random(m * k, 3);
    var b = random(k * n, 4);
    var expected = new float[m * n];
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int l = 0; l < k; l++) {
          sum = Math.fma(a[i * k + l], b[l * n + j], sum);
        }
        expected[i * n + j] = sum;
      }
    }
    try (var rig = new SampleRig(way)) {
      var c = rig.buffer(new float[m * n]);
      var grid = new Dim3(Math.ceilDiv(n, 16), Math.ceilDiv(m, 16), 1);
      rig.run(
          "matmul_tiled", grid, new Dim3(16, 16, 1), 0, rig.buffer(a), rig.buffer(b), c, m, n, k);
      assertThat(rig.floats(c)).isEqualTo(expected);
    }
  }

  static List<Way> softmax() {
    return SampleRig.ways(
        "k04_softmax_norm.sm_80", "k04_softmax_norm.sm_90a", "k04_softmax_norm.fast.sm_80");
  }

  /** The library's exponential and the fast one, shuffle reductions, and approximate division. */
  @ParameterizedTest
  @MethodSource("softmax")
  void rowSoftmax(Way way) {
    int rows = 3;
    int n = 300;
    var x = random(rows * n, 5);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[rows * n]);
      rig.run("softmax_rows", Dim3.of(rows), Dim3.of(128), 0, rig.buffer(x), out, n);
      var y = rig.floats(out);
      for (int row = 0; row < rows; row++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
          sum += Math.exp(x[row * n + i]);
        }
        for (int i = 0; i < n; i++) {
          double expected = Math.exp(x[row * n + i]) / sum;
          assertThat((double) y[row * n + i])
              .as("row %d, element %d", row, i)
              .isCloseTo(expected, withinPercentage(1e-4));
        }
      }
    }
  }

  static List<Way> histogram() {
    return SampleRig.ways("k05_histogram.sm_80", "k05_histogram.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("histogram")
  void byteHistogram(Way way) {
    int n = 500;
    var in = new Random(9).ints(n).toArray();
    var expected = new int[256];
    for (int word : in) {
      for (int shift = 0; shift < 32; shift += 8) {
        expected[(word >>> shift) & 255]++;
      }
    }
    try (var rig = new SampleRig(way)) {
      var bins = rig.buffer(new int[256]);
      rig.run("hist256", Dim3.of(3), Dim3.of(64), 0, rig.buffer(in), bins, n);
      assertThat(rig.ints(bins)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("histogram")
  void maximumByCompareAndSwap(Way way) {
    int n = 300;
    var in = random(n, 10);
    float greatest = 0;
    for (int i = 0; i < n; i++) {
      in[i] = Math.abs(in[i]);
      greatest = Math.max(greatest, in[i]);
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(0);
      rig.run("atomic_float_max", Dim3.of(3), Dim3.of(128), 0, rig.buffer(in), out, n);
      assertThat(rig.ints(out)).containsExactly(Float.floatToRawIntBits(greatest));
    }
  }

  /** Converged lanes count together, whichever they are. */
  @ParameterizedTest
  @MethodSource("histogram")
  void aggregatedCount(Way way) {
    int n = 300;
    var in = new Random(11).ints(n, 0, 7).toArray();
    var expected = new int[7];
    for (int key : in) {
      expected[key]++;
    }
    try (var rig = new SampleRig(way)) {
      var counts = rig.buffer(new int[7]);
      rig.run("agg_count", Dim3.of(3), Dim3.of(128), 0, rig.buffer(in), counts, n);
      assertThat(rig.ints(counts)).isEqualTo(expected);
    }
  }

  /** A ticket in a module variable, which each launch resets. */
  @ParameterizedTest
  @MethodSource("histogram")
  void lastBlockSums(Way way) {
    int n = 1000;
    int blocks = 5;
    var in = random(n, 12);
    double sum = 0;
    for (float value : in) {
      sum += value;
    }
    // no fence follows the ticket, so the last block's weak reads are unordered
    try (var rig = new SampleRig(way, Sanitize.MEMORY)) {
      for (int launch = 0; launch < 2; launch++) {
        var parts = rig.buffer(new float[blocks]);
        var out = rig.buffer(0f);
        rig.run("last_block_sum", Dim3.of(blocks), Dim3.of(64), 0, rig.buffer(in), parts, out, n);
        assertThat((double) rig.floats(out)[0])
            .isCloseTo(sum, org.assertj.core.api.Assertions.within(1e-4));
      }
    }
  }

  /** The sample omits the acquire fence of its last block. */
  @ParameterizedTest
  @MethodSource("histogram")
  void lastBlockWithoutAcquire(Way way) {
    try (var rig = new SampleRig(way, Sanitize.FULL)) {
      var in = rig.buffer(new float[1000]);
      var parts = rig.buffer(new float[5]);
      var out = rig.buffer(0f);
      var fault =
          catchThrowableOfType(
              KernelFault.class,
              () -> rig.run("last_block_sum", Dim3.of(5), Dim3.of(64), 0, in, parts, out, 1000));
      assertThat(fault.findings())
          .isNotEmpty()
          .allSatisfy(found -> {
            assertThat(found.kind()).isEqualTo(Report.Kind.ATOMIC_AND_PLAIN);
            assertThat(found.place().instruction()).startsWith("ld.global.cg.f32");
          });
    }
  }

  static float[] random(int count, long seed) {
    var random = new Random(seed);
    var values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = 2 * random.nextFloat() - 1;
    }
    return values;
  }
}
