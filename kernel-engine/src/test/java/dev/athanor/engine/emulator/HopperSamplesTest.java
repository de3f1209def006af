package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Sample kernels with asynchronous work: tile copies, mbarriers and warpgroup products. Factors are
 * small integers, so that sums are exact in any order.
 */
@Tag(TestTier.THOROUGH_TAG)
class HopperSamplesTest {

  static List<Way> hopper() {
    return SampleRig.ways("k10_hopper.sm_90a");
  }

  /** Tiles extend beyond the tensors on two sides; nothing is written beyond the output. */
  @ParameterizedTest
  @MethodSource("hopper")
  void doubledTiles(Way way) {
    int rows = 50;
    int columns = 72;
    int rowsOut = 40;
    var in = SampleRunsTest.random(rows * columns, 21);
    var expected = new float[rowsOut * columns];
    for (int i = 0; i < expected.length; i++) {
      expected[i] = 2 * in[i];
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[expected.length]);
      var from = TensorMap.matrix(Element.F32, rows, columns, 32, 32);
      var to = TensorMap.matrix(Element.F32, rowsOut, columns, 32, 32);
      rig.run(
          "tma_copy2d",
          new Dim3(3, 2, 1),
          Dim3.of(64),
          0,
          Argument.of(from, rig.buffer(in)),
          Argument.of(to, out));
      assertThat(rig.floats(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("hopper")
  void warpgroupProduct(Way way) {
    int m = 128;
    int n = 64;
    int k = 192;
    var a = integers(m * k, 22);
    var b = integers(n * k, 23);
    try (var rig = new SampleRig(way)) {
      var c = rig.buffer(new float[m * n]);
      rig.run(
          "wgmma_64x64",
          new Dim3(n / 64, m / 64, 1),
          Dim3.of(128),
          0,
          Argument.of(swizzled(Element.F16, m, k, 64), rig.buffer(halves(a))),
          Argument.of(swizzled(Element.F16, n, k, 64), rig.buffer(halves(b))),
          c,
          k);
      assertThat(rig.floats(c)).isEqualTo(product(a, b, m, n, k));
    }
  }

  @ParameterizedTest
  @MethodSource("hopper")
  void clusterSum(Way way) {
    var in = SampleRunsTest.random(8 * 32, 24);
    var expected = new float[2];
    for (int cluster = 0; cluster < 2; cluster++) {
      for (int rank = 0; rank < 4; rank++) {
        int first = 32 * (4 * cluster + rank);
        var lanes = Arrays.copyOfRange(in, first, first + 32);
        for (int offset = 16; offset > 0; offset /= 2) {
          for (int lane = 0; lane < offset; lane++) {
            lanes[lane] += lanes[lane + offset];
          }
        }
        expected[cluster] += lanes[0];
      }
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[2]);
      rig.run("cluster_sum", Dim3.of(8), Dim3.of(32), 0, rig.buffer(in), out);
      assertThat(rig.floats(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("hopper")
  void bulkRowCopies(Way way) {
    var in = SampleRunsTest.random(3 * 1024, 25);
    var expected = new float[in.length];
    for (int i = 0; i < in.length; i++) {
      expected[i] = in[i] * 1.7f;
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[in.length]);
      rig.run("bulk_scale", Dim3.of(3), Dim3.of(96), 0, rig.buffer(in), out, 1.7f);
      assertThat(rig.floats(out)).isEqualTo(expected);
    }
  }

  static List<Way> barriers() {
    return SampleRig.ways("k11_barriers.sm_80", "k11_barriers.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("barriers")
  void producerConsumerWithNamedBarriers(Way way) {
    var in = new Random(26).ints(7 * 32).toArray();
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[in.length]);
      rig.run("named_pipe", Dim3.of(1), Dim3.of(64), 0, rig.buffer(in), out, 7);
      assertThat(rig.ints(out)).isEqualTo(Arrays.stream(in).map(i -> i + 1).toArray());
    }
  }

  @ParameterizedTest
  @MethodSource("barriers")
  void barrierReduction(Way way) {
    var in = new Random(27).ints(160, 0, 2).toArray();
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[3]);
      rig.run("bar_red", Dim3.of(1), Dim3.of(160), 0, rig.buffer(in), out);
      assertThat(rig.ints(out)).containsExactly(Arrays.stream(in).sum(), 0, 1);
    }
  }

  @ParameterizedTest
  @MethodSource("barriers")
  void reversalAfterAnMbarrier(Way way) {
    var in = new Random(28).ints(256).toArray();
    var expected = new int[in.length];
    Arrays.setAll(expected, i -> in[in.length - 1 - i]);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[in.length]);
      rig.run("mbar80", Dim3.of(1), Dim3.of(256), 0, rig.buffer(in), out);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("barriers")
  void orderedCompaction(Way way) {
    var in = new Random(29).ints(192, -50, 50).toArray();
    var expected = Arrays.stream(in).filter(i -> i > 0).toArray();
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[in.length]);
      var total = rig.buffer(0);
      rig.run("compact", Dim3.of(1), Dim3.of(192), 0, rig.buffer(in), out, total);
      assertThat(rig.ints(total)).containsExactly(expected.length);
      assertThat(rig.ints(out)).startsWith(expected);
    }
  }

  static List<Way> gemm() {
    return SampleRig.ways("hopper/gemm_ws_128x256x64_c2");
  }

  /**
   * A producer and two consumer warpgroups in each of two blocks, with a ring of four stages that
   * wraps around, half of B multicast by each block, and two consecutive tiles.
   */
  @ParameterizedTest
  @MethodSource("gemm")
  void warpSpecializedProduct(Way way) {
    int m = 256;
    int n = 512;
    int k = 5 * 64;
    var a = integers(m * k, 30);
    var b = integers(n * k, 31);
    try (var rig = new SampleRig(way)) {
      var c = rig.buffer(new short[m * n]);
      rig.run(
          "gemm_ws",
          Dim3.of(2),
          Dim3.of(384),
          229440,
          Argument.of(swizzled(Element.BF16, m, k, 128), rig.buffer(bfloats(a))),
          Argument.of(swizzled(Element.BF16, n, k, 128), rig.buffer(bfloats(b))),
          Argument.of(swizzled(Element.BF16, m, n, 64), c),
          1,
          2,
          k / 64);
      assertThat(rig.shorts(c)).isEqualTo(bfloats(product(a, b, m, n, k)));
    }
  }

  static List<Way> warpGemm() {
    return SampleRig.ways("hopper/gemm_mma_sync_128x128x64_s3");
  }

  /** Three stages of cp.async, with a manual swizzle, and mma.sync. */
  @ParameterizedTest
  @MethodSource("warpGemm")
  void productWithWarpTiles(Way way) {
    int m = 128;
    int n = 256;
    int k = 4 * 64;
    var a = integers(m * k, 32);
    var b = integers(n * k, 33);
    try (var rig = new SampleRig(way)) {
      var c = rig.buffer(new short[m * n]);
      rig.run(
          "gemm_mma",
          new Dim3(n / 128, m / 128, 1),
          Dim3.of(128),
          98304,
          rig.buffer(bfloats(a)),
          rig.buffer(bfloats(b)),
          c,
          m,
          n,
          k);
      assertThat(rig.shorts(c)).isEqualTo(bfloats(product(a, b, m, n, k)));
    }
  }

  static List<Way> smallWarpGemm() {
    return SampleRig.ways("k07_mma_cpasync.sm_80", "k07_mma_cpasync.sm_90a");
  }

  /** Stages beyond the last are zero-filled and never used. */
  @ParameterizedTest
  @MethodSource("smallWarpGemm")
  void productWithSmallTiles(Way way) {
    int m = 64;
    int n = 128;
    int k = 5 * 32;
    var a = integers(m * k, 37);
    var b = integers(n * k, 38);
    // exits without waiting for its last copies, as the sanitizer reports
    try (var rig = new SampleRig(way, Sanitize.OFF)) {
      var c = rig.buffer(new float[m * n]);
      rig.run(
          "mma_gemm",
          new Dim3(n / 64, m / 64, 1),
          Dim3.of(128),
          0,
          rig.buffer(bfloats(a)),
          rig.buffer(bfloats(b)),
          c,
          m,
          n,
          k);
      assertThat(rig.floats(c)).isEqualTo(product(a, b, m, n, k));
    }
  }

  static List<Way> norm() {
    return SampleRig.ways("hopper/rmsnorm_bf16_sm80");
  }

  @ParameterizedTest
  @MethodSource("norm")
  void rootMeanSquareNorm(Way way) {
    int rows = 3;
    int n = 4096;
    float eps = 1e-5f;
    var x = bfloats(SampleRunsTest.random(rows * n, 34));
    var weights = bfloats(SampleRunsTest.random(n, 35));
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new short[x.length]);
      rig.run(
          "rmsnorm4096",
          Dim3.of(rows),
          Dim3.of(128),
          0,
          rig.buffer(x),
          rig.buffer(weights),
          out,
          eps);
      var y = rig.shorts(out);
      for (int row = 0; row < rows; row++) {
        double squares = 0;
        for (int i = 0; i < n; i++) {
          squares += Math.pow(number(x[row * n + i]), 2);
        }
        double scale = 1 / Math.sqrt(squares / n + eps);
        for (int i = 0; i < n; i++) {
          double expected = number(x[row * n + i]) * scale * number(weights[i]);
          // half an ulp of bf16, and the error of the f32 sum
          assertThat((double) number(y[row * n + i]))
              .as("row %d, element %d", row, i)
              .isCloseTo(expected, within(Math.abs(expected) * 0x1.02p-8));
        }
      }
    }
  }

  static List<Way> gemv() {
    return SampleRig.ways("hopper/gemv_q4k_sm80");
  }

  /** 4-bit weights in super-blocks of 256, 8-bit activations; rows beyond the last are idle. */
  @ParameterizedTest
  @MethodSource("gemv")
  void productWithQuantizedWeights(Way way) {
    int rows = 11;
    int blocks = 6;
    int k = 256 * blocks;
    var random = new Random(36);
    var weights = new byte[rows * blocks * 144];
    random.nextBytes(weights);
    for (int block = 0; block < rows * blocks; block++) {
      put(weights, 144 * block, Float.floatToFloat16(0.01f + 0.02f * random.nextFloat()));
      put(weights, 144 * block + 2, Float.floatToFloat16(0.03f * random.nextFloat()));
    }
    var x = new byte[k];
    random.nextBytes(x);
    var scales = new float[k / 32];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = random.nextFloat();
    }
    var sums = new float[k / 16];
    for (int i = 0; i < k; i++) {
      sums[i / 16] += x[i];
    }
    for (int i = 0; i < sums.length; i++) {
      sums[i] *= scales[i / 2];
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[rows]);
      rig.run(
          "gemv_q4k",
          Dim3.of(2),
          Dim3.of(256),
          0,
          rig.buffer(weights),
          rig.buffer(x),
          rig.buffer(scales),
          rig.buffer(sums),
          out,
          rows,
          blocks);
      var y = rig.floats(out);
      for (int row = 0; row < rows; row++) {
        double expected = 0;
        double size = 0;
        for (int i = 0; i < k; i++) {
          int block = 144 * (row * blocks + i / 256);
          double term = weight(weights, block, i % 256) * x[i] * scales[i / 32];
          expected += term;
          size += Math.abs(term);
        }
        assertThat((double) y[row]).as("row %d", row).isCloseTo(expected, within(size * 1e-5));
      }
    }
  }

  /** Decodes a Q4_K weight: scale * 4 bits - minimum, both of 6 bits. */
  private static double weight(byte[] from, int block, int i) {
    int group = i / 32;
    int quant = (from[block + 16 + 32 * (group / 2) + i % 32] >> (4 * (group % 2))) & 15;
    int scale;
    int minimum;
    if (group < 4) {
      scale = from[block + 4 + group] & 63;
      minimum = from[block + 8 + group] & 63;
    } else {
      scale = (from[block + 8 + group] & 15) | ((from[block + group] & 0xC0) >> 2);
      minimum = ((from[block + 8 + group] >> 4) & 15) | ((from[block + 4 + group] & 0xC0) >> 2);
    }
    return half(from, block) * (double) scale * quant - half(from, block + 2) * (double) minimum;
  }

  private static float half(byte[] from, int at) {
    return Float.float16ToFloat((short) ((from[at] & 0xFF) | (from[at + 1] << 8)));
  }

  private static void put(byte[] to, int at, short value) {
    to[at] = (byte) value;
    to[at + 1] = (byte) (value >> 8);
  }

  private static TensorMap swizzled(Element element, int rows, int columns, int boxRows) {
    return TensorMap.matrix(element, rows, columns, boxRows, 64).withSwizzle(SwizzleMode.BYTES_128);
  }

  static float[] integers(int count, long seed) {
    var values = new float[count];
    var random = new Random(seed);
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(9) - 4;
    }
    return values;
  }

  /** Returns A (m by k) times the transpose of B (n by k). */
  static float[] product(float[] a, float[] b, int m, int n, int k) {
    var c = new float[m * n];
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int l = 0; l < k; l++) {
          sum += a[i * k + l] * b[j * k + l];
        }
        c[i * n + j] = sum;
      }
    }
    return c;
  }

  static short[] halves(float[] numbers) {
    var all = new short[numbers.length];
    for (int i = 0; i < all.length; i++) {
      all[i] = Float.floatToFloat16(numbers[i]);
    }
    return all;
  }

  /** Rounds to nearest even. */
  static short[] bfloats(float[] numbers) {
    var all = new short[numbers.length];
    for (int i = 0; i < all.length; i++) {
      int bits = Float.floatToRawIntBits(numbers[i]);
      all[i] = (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
    }
    return all;
  }

  static float number(short bfloat) {
    return Float.intBitsToFloat(bfloat << 16);
  }
}
