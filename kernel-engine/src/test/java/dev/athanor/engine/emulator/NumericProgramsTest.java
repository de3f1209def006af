package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Numeric CUDA programs: transforms, n-body, LU, k-means, simulation, packed halves. */
class NumericProgramsTest {

  static List<Way> numeric() {
    return SampleRig.schedules("programs/numeric.sm_80", "programs/numeric.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("numeric")
  void fourierTransform(Way way) {
    int n = 64;
    var in = SampleRig.randomFloats(2 * 2 * n, 80);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[in.length]);
      rig.run("fft", Dim3.of(2), Dim3.of(n / 2), 16 * n, rig.buffer(in), out, n, -1f);
      var results = rig.floats(out);
      for (int row = 0; row < 2; row++) {
        for (int k = 0; k < n; k++) {
          double re = 0;
          double im = 0;
          for (int j = 0; j < n; j++) {
            double angle = -2 * Math.PI * j * k / n;
            double x = in[2 * (row * n + j)];
            double y = in[2 * (row * n + j) + 1];
            re += x * Math.cos(angle) - y * Math.sin(angle);
            im += x * Math.sin(angle) + y * Math.cos(angle);
          }
          int at = 2 * (row * n + k);
          assertThat((double) results[at]).as("row %d, re %d", row, k).isCloseTo(re, within(2e-5));
          assertThat((double) results[at + 1]).isCloseTo(im, within(2e-5));
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("numeric")
  void nBody(Way way) {
    int n = 75;
    var bodies = SampleRig.randomFloats(4 * n, 81);
    float softening = 0.01f;
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[3 * n]);
      rig.run("gravity", Dim3.of(3), Dim3.of(32), 512, rig.buffer(bodies), out, n, softening);
      var results = rig.floats(out);
      for (int i = 0; i < n; i++) {
        var expected = new double[3];
        for (int j = 0; j < n; j++) {
          var d = new double[3];
          double square = softening;
          for (int c = 0; c < 3; c++) {
            d[c] = (double) bodies[4 * j + c] - bodies[4 * i + c];
            square += d[c] * d[c];
          }
          for (int c = 0; c < 3; c++) {
            expected[c] += d[c] * bodies[4 * j + 3] / (square * Math.sqrt(square));
          }
        }
        for (int c = 0; c < 3; c++) {
          assertThat((double) results[3 * i + c]).isCloseTo(expected[c], within(1e-3));
        }
      }
    }
  }

  /** The factors multiply to the permuted rows, and no multiplier exceeds one. */
  @ParameterizedTest
  @MethodSource("numeric")
  void luDecomposition(Way way) {
    int n = 21;
    var matrix = new Random(82).doubles((long) n * n, -1, 1).toArray();
    try (var rig = new SampleRig(way)) {
      var inOut = rig.buffer(matrix);
      var pivots = rig.buffer(new int[n]);
      rig.run("lu", Dim3.of(1), Dim3.of(64), 0, inOut, n, pivots);
      var lu = rig.doubles(inOut);
      var rows = rig.ints(pivots);
      var permuted = matrix.clone();
      for (int k = 0; k < n; k++) {
        for (int c = 0; c < n; c++) {
          double swap = permuted[k * n + c];
          permuted[k * n + c] = permuted[rows[k] * n + c];
          permuted[rows[k] * n + c] = swap;
        }
      }
      for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++) {
          double sum = r <= c ? lu[r * n + c] : 0;
          for (int k = 0; k < Math.min(r, c + 1); k++) {
            sum += lu[r * n + k] * lu[k * n + c];
          }
          assertThat(sum).isCloseTo(permuted[r * n + c], within(1e-13));
          if (r > c) {
            assertThat(Math.abs(lu[r * n + c])).isLessThanOrEqualTo(1);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("numeric")
  void kMeans(Way way) {
    int n = 190;
    int k = 5;
    var points = SampleRig.randomFloats(2 * n, 83);
    var centers = SampleRig.randomFloats(2 * k, 84);
    try (var rig = new SampleRig(way)) {
      var nearest = rig.buffer(new int[n]);
      var sums = rig.buffer(new float[2 * k]);
      var counts = rig.buffer(new int[k]);
      rig.run(
          "kmeans",
          Dim3.of(3),
          Dim3.of(64),
          0,
          rig.buffer(points),
          n,
          rig.buffer(centers),
          k,
          nearest,
          sums,
          counts);
      var own = rig.ints(nearest);
      var expectedSums = new double[2 * k];
      var expectedCounts = new int[k];
      for (int i = 0; i < n; i++) {
        double best = Double.POSITIVE_INFINITY;
        for (int c = 0; c < k; c++) {
          best = Math.min(best, distance(points, i, centers, c));
        }
        assertThat(distance(points, i, centers, own[i])).isCloseTo(best, within(1e-6));
        expectedSums[2 * own[i]] += points[2 * i];
        expectedSums[2 * own[i] + 1] += points[2 * i + 1];
        expectedCounts[own[i]]++;
      }
      assertThat(rig.ints(counts)).isEqualTo(expectedCounts);
      var results = rig.floats(sums);
      for (int c = 0; c < 2 * k; c++) {
        assertThat((double) results[c]).isCloseTo(expectedSums[c], within(1e-4));
      }
    }
  }

  private static double distance(float[] points, int i, float[] centers, int c) {
    return Math.hypot(
        (double) points[2 * i] - centers[2 * c], (double) points[2 * i + 1] - centers[2 * c + 1]);
  }

  /** The first words for key and counter 0 match Random123's known answers. */
  @ParameterizedTest
  @MethodSource("numeric")
  void randomNumbers(Way way) {
    int n = 40;
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[4 * n]);
      rig.run("random_words", Dim3.of(2), Dim3.of(32), 0, out, n, key(0, 0));
      assertThat(rig.ints(out)).startsWith(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
      rig.run("random_words", Dim3.of(2), Dim3.of(32), 0, out, n, key(7, -9));
      var expected = new int[4 * n];
      for (int i = 0; i < n; i++) {
        System.arraycopy(philox(i, 7, -9), 0, expected, 4 * i, 4);
      }
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("numeric")
  void monteCarloOptionPricing(Way way) {
    int paths = 500;
    double expected = 0;
    for (int i = 0; i < paths; i++) {
      var words = philox(i, 3, 4);
      float u = ((words[0] & 0xffffffffL) + 0.5f) * 0x1p-32f;
      float v = (words[1] & 0xffffffffL) * 0x1p-32f;
      double normal =
          Math.sqrt(-2 * Math.log(Math.min(u, 0.99999994f))) * Math.cos(2 * Math.PI * v);
      expected += Math.max(100 * Math.exp(0.01f + 0.2f * normal) - 105, 0);
    }
    try (var rig = new SampleRig(way)) {
      var sum = rig.buffer(0.0);
      rig.run(
          "call_option",
          Dim3.of(4),
          Dim3.of(128),
          0,
          paths,
          key(3, 4),
          100f,
          105f,
          0.01f,
          0.2f,
          sum);
      assertThat(rig.doubles(sum)[0]).isCloseTo(expected, withinPercentage(0.001));
    }
  }

  private static Argument key(int low, int high) {
    return new Argument.Bytes(MemorySegment.ofArray(new int[] {low, high}));
  }

  private static int[] philox(int counter, int low, int high) {
    var c = new int[] {counter, 0, 0, 0};
    for (int round = 0; round < 10; round++) {
      long a = 0xD2511F53L * (c[0] & 0xffffffffL);
      long b = 0xCD9E8D57L * (c[2] & 0xffffffffL);
      c =
          new int[] {
            (int) (b >>> 32) ^ c[1] ^ low + round * 0x9E3779B9,
            (int) b,
            (int) (a >>> 32) ^ c[3] ^ high + round * 0xBB67AE85,
            (int) a
          };
    }
    return c;
  }

  static List<Way> halves() {
    return SampleRig.schedules("programs/halves.sm_80", "programs/halves.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("halves")
  void packedHalfSums(Way way) {
    int n = 202;
    var x = halfs(n, 85);
    var y = halfs(n, 86);
    var expected = new short[n];
    for (int i = 0; i < n; i++) {
      double sum = 0.75 * Float.float16ToFloat(x[i]) + Float.float16ToFloat(y[i]);
      expected[i] = Float.floatToFloat16((float) sum); // exact in float: 12 and 11 bits
    }
    try (var rig = new SampleRig(way)) {
      var inOut = rig.buffer(y);
      var a = new Argument.Bytes(MemorySegment.ofArray(new short[] {Float.floatToFloat16(0.75f)}));
      rig.run("axpy_half2", Dim3.of(4), Dim3.of(32), 0, n / 2, a, rig.buffer(x), inOut);
      assertThat(rig.shorts(inOut)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("halves")
  void bfloat16DotProduct(Way way) {
    int n = 300;
    var x = SampleRig.randomFloats(n, 87);
    var y = SampleRig.randomFloats(n, 88);
    double expected = 0;
    var bitsOfX = new short[n];
    var bitsOfY = new short[n];
    for (int i = 0; i < n; i++) {
      bitsOfX[i] = (short) (Float.floatToRawIntBits(x[i]) >>> 16);
      bitsOfY[i] = (short) (Float.floatToRawIntBits(y[i]) >>> 16);
      expected +=
          (double) Float.intBitsToFloat(bitsOfX[i] << 16) * Float.intBitsToFloat(bitsOfY[i] << 16);
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(0f);
      rig.run(
          "dot_bfloat",
          Dim3.of(1),
          Dim3.of(32),
          0,
          rig.buffer(bitsOfX),
          rig.buffer(bitsOfY),
          n / 2,
          out);
      assertThat((double) rig.floats(out)[0]).isCloseTo(expected, withinPercentage(1e-4));
    }
  }

  /** Rows of 20 leave some lanes without elements; their moments must not count. */
  @ParameterizedTest
  @MethodSource("halves")
  void rowMoments(Way way) {
    for (int n : new int[] {20, 133}) {
      var in = halfs(3 * n, 89);
      try (var rig = new SampleRig(way)) {
        var out = rig.buffer(new float[6]);
        rig.run("moments", Dim3.of(3), Dim3.of(32), 0, rig.buffer(in), n, out);
        var results = rig.floats(out);
        for (int row = 0; row < 3; row++) {
          var values = new double[n];
          for (int i = 0; i < n; i++) {
            values[i] = Float.float16ToFloat(in[row * n + i]);
          }
          double mean = Arrays.stream(values).average().orElseThrow();
          double variance =
              Arrays.stream(values).map(v -> (v - mean) * (v - mean)).average().orElseThrow();
          assertThat((double) results[2 * row]).isCloseTo(mean, within(1e-6));
          assertThat((double) results[2 * row + 1]).isCloseTo(variance, within(1e-6));
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("halves")
  void rowConvolution(Way way) {
    int width = 83;
    int height = 3;
    var in = new byte[width * height];
    new Random(90).nextBytes(in);
    var weights = new float[] {0.02f, 0.05f, 0.1f, 0.18f, 0.3f, 0.18f, 0.1f, 0.05f, 0.02f};
    var expected = new byte[in.length];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        float sum = 0;
        for (int k = -4; k <= 4; k++) {
          int from = y * width + Math.clamp(x + k, 0, width - 1);
          sum = Math.fma(weights[k + 4], (float) (in[from] & 0xff), sum);
        }
        expected[y * width + x] = (byte) Math.rint(Math.min(sum, 255));
      }
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new byte[in.length]);
      rig.run(
          "convolve_rows",
          new Dim3(2, height, 1),
          Dim3.of(64),
          4 * (64 + 8),
          rig.buffer(in),
          out,
          width);
      assertThat(rig.bytes(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("halves")
  void transposition(Way way) {
    int width = 45;
    int height = 70;
    var in = halfs(width * height, 91);
    var expected = new short[in.length];
    for (int i = 0; i < in.length; i++) {
      expected[i % width * height + i / width] = in[i];
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new short[in.length]);
      rig.run(
          "transpose_half",
          new Dim3(2, 3, 1),
          new Dim3(32, 4, 1),
          0,
          rig.buffer(in),
          out,
          width,
          height);
      assertThat(rig.shorts(out)).isEqualTo(expected);
    }
  }

  private static short[] halfs(int n, long seed) {
    var random = new Random(seed);
    var values = new short[n];
    for (int i = 0; i < n; i++) {
      values[i] = Float.floatToFloat16(random.nextFloat(-2, 2));
    }
    return values;
  }
}
