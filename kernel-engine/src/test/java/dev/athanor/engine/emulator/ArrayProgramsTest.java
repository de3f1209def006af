package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** CUDA programs over arrays and grids: stencils, histograms, sorts and prefix sums. */
class ArrayProgramsTest {

  static List<Way> stencils() {
    return SampleRig.schedules("programs/stencil.sm_80", "programs/stencil.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("stencils")
  void heatDiffusion(Way way) {
    int width = 37;
    int height = 21;
    var in = SampleRig.randomFloats(width * height, 60);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[in.length]);
      rig.run(
          "heat_2d",
          new Dim3(3, 2, 1),
          new Dim3(16, 16, 1),
          0,
          rig.buffer(in),
          out,
          width,
          height,
          0.2f);
      var results = rig.floats(out);
      for (int i = 0; i < in.length; i++) {
        int x = i % width;
        int y = i / width;
        double expected = in[i];
        if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
          double sum = (double) in[i - width] + in[i + width] + in[i - 1] + in[i + 1];
          expected += 0.2f * (sum - 4.0 * in[i]);
        }
        assertThat((double) results[i]).as("cell %d", i).isCloseTo(expected, within(1e-6));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("stencils")
  void stencil3d(Way way) {
    int nx = 9;
    int ny = 7;
    int nz = 5;
    int plane = nx * ny;
    var in = new Random(61).doubles((long) plane * nz).toArray();
    var expected = in.clone();
    for (int z = 1; z < nz - 1; z++) {
      for (int y = 1; y < ny - 1; y++) {
        for (int x = 1; x < nx - 1; x++) {
          int at = z * plane + y * nx + x;
          double others =
              ((in[at - plane] + in[at + plane]) + (in[at - nx] + in[at + nx]))
                  + (in[at - 1] + in[at + 1]);
          expected[at] = (others + in[at]) / 7.0;
        }
      }
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new double[in.length]);
      rig.run("mean_3d", new Dim3(2, 2, 1), new Dim3(8, 4, 1), 0, rig.buffer(in), out, nx, ny, nz);
      assertThat(rig.doubles(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("stencils")
  void gameOfLife(Way way) {
    int words = 3;
    int width = 32 * words;
    int height = 20;
    var in = new Random(62).ints((long) words * height).toArray();
    var expected = new int[in.length];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        int neighbors = 0;
        for (int dy = -1; dy <= 1; dy++) {
          for (int dx = -1; dx <= 1; dx++) {
            neighbors +=
                dx == 0 && dy == 0
                    ? 0
                    : cell(in, words, (x + dx + width) % width, (y + dy + height) % height);
          }
        }
        if (neighbors == 3 || (neighbors == 2 && cell(in, words, x, y) == 1)) {
          expected[y * words + x / 32] |= 1 << x % 32;
        }
      }
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[in.length]);
      rig.run("life", Dim3.of(1), Dim3.of(64), 0, rig.buffer(in), out, words, height);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  private static int cell(int[] grid, int words, int x, int y) {
    return grid[y * words + x / 32] >>> x % 32 & 1;
  }

  static List<Way> histograms() {
    return SampleRig.schedules("programs/histogram.sm_80", "programs/histogram.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("histograms")
  void byteHistogram(Way way) {
    var in = new byte[1003];
    new Random(63).nextBytes(in);
    var expected = new int[256];
    for (var value : in) {
      expected[value & 0xff]++;
    }
    try (var rig = new SampleRig(way)) {
      var bins = rig.buffer(new int[256]);
      rig.run("histogram_bytes", Dim3.of(3), Dim3.of(96), 0, rig.buffer(in), in.length, bins);
      assertThat(rig.ints(bins)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("histograms")
  void warpAggregatedAtomics(Way way) {
    var keys = new Random(64).ints(333, 0, 7).toArray();
    var expected = new long[7];
    for (var key : keys) {
      expected[key]++;
    }
    try (var rig = new SampleRig(way)) {
      var bins = rig.buffer(new long[7]);
      rig.run("histogram_matched", Dim3.of(3), Dim3.of(128), 0, rig.buffer(keys), 333, bins);
      assertThat(rig.longs(bins)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("histograms")
  void streamCompaction(Way way) {
    var in = SampleRig.randomFloats(301, 65);
    var expected = new float[in.length];
    int kept = 0;
    for (var value : in) {
      if (value > 0.25f) {
        expected[kept++] = value;
      }
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new float[in.length]);
      var count = rig.buffer(0);
      rig.run("compact", Dim3.of(3), Dim3.of(128), 0, rig.buffer(in), 301, 0.25f, out, count);
      assertThat(rig.ints(count)).containsExactly(kept);
      var results = rig.floats(out);
      Arrays.sort(results, 0, kept);
      Arrays.sort(expected, 0, kept);
      assertThat(results).isEqualTo(expected);
    }
  }

  static List<Way> sorts() {
    return SampleRig.schedules("programs/sort.sm_80", "programs/sort.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("sorts")
  void bitonicSort(Way way) {
    int n = 256;
    var data = SampleRig.randomFloats(2 * n, 66);
    var expected = data.clone();
    Arrays.sort(expected, 0, n);
    Arrays.sort(expected, n, 2 * n);
    try (var rig = new SampleRig(way)) {
      var inOut = rig.buffer(data);
      rig.run("bitonic_sort", Dim3.of(2), Dim3.of(96), 4 * n, inOut, n);
      assertThat(rig.floats(inOut)).isEqualTo(expected);
    }
  }

  /** Few distinct keys reveal an unstable sort. */
  @ParameterizedTest
  @MethodSource("sorts")
  void radixSortIsStable(Way way) {
    int n = 150;
    var keys = new Random(67).ints(n, 0, 40).map(k -> k * 0x07654321).toArray();
    var order =
        IntStream.range(0, n)
            .boxed()
            .sorted(Comparator.comparingLong(i -> Integer.toUnsignedLong(keys[i])))
            .toList();
    try (var rig = new SampleRig(way)) {
      var inOut = rig.buffer(keys);
      var positions = rig.buffer(new int[n]);
      rig.run("radix_sort", Dim3.of(1), Dim3.of(160), 0, inOut, positions, n);
      assertThat(rig.ints(inOut)).isEqualTo(order.stream().mapToInt(i -> keys[i]).toArray());
      assertThat(rig.ints(positions)).isEqualTo(order.stream().mapToInt(i -> i).toArray());
    }
  }

  @ParameterizedTest
  @MethodSource("sorts")
  void mergeSortedLists(Way way) {
    var a = new Random(68).longs(77, -50, 50).sorted().toArray();
    var b = new Random(69).longs(101, -50, 50).sorted().toArray();
    var expected = Arrays.copyOf(a, a.length + b.length);
    System.arraycopy(b, 0, expected, a.length, b.length);
    Arrays.sort(expected);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new long[expected.length]);
      rig.run(
          "merge_ranks", Dim3.of(3), Dim3.of(64), 0, rig.buffer(a), 77, rig.buffer(b), 101, out);
      assertThat(rig.longs(out)).isEqualTo(expected);
    }
  }

  static List<Way> scans() {
    return SampleRig.schedules("programs/scan.sm_80", "programs/scan.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("scans")
  void exclusiveBlockScan(Way way) {
    int n = 256;
    var in = new Random(70).ints(2L * n, -1000, 1000).toArray();
    var expected = new int[2 * n];
    for (int i = 0; i < 2 * n; i++) {
      expected[i] = i % n == 0 ? 0 : expected[i - 1] + in[i - 1];
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[2 * n]);
      rig.run("scan_block", Dim3.of(2), Dim3.of(n / 2), 4 * n, rig.buffer(in), out);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  /** Blocks wait for earlier blocks, which may run concurrently. */
  @ParameterizedTest
  @MethodSource("scans")
  void singlePassGridScan(Way way) {
    int n = 700;
    var in = new Random(71).ints(n, -1000, 1000).toArray();
    var expected = in.clone();
    Arrays.parallelPrefix(expected, Integer::sum);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[n]);
      rig.run(
          "scan_grid",
          Dim3.of(6),
          Dim3.of(128),
          0,
          rig.buffer(in),
          out,
          n,
          rig.buffer(0),
          rig.buffer(new long[6]));
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("scans")
  void lastBlockReduction(Way way) {
    int n = 1000;
    var in = new Random(72).ints(n, 0, 1 << 20).asDoubleStream().toArray();
    try (var rig = new SampleRig(way)) {
      var result = rig.buffer(0.0);
      rig.run(
          "sum_last_block",
          Dim3.of(4),
          Dim3.of(256),
          0,
          rig.buffer(in),
          n,
          rig.buffer(new double[4]),
          rig.buffer(0),
          result);
      assertThat(rig.doubles(result)).containsExactly(Arrays.stream(in).sum());
    }
  }

  static List<Way> lanesInStep() {
    return scans().stream().filter(way -> way.schedule() == Schedule.CONVERGING).toList();
  }

  /**
   * Programs written before Volta have only fences, no barriers, between lanes. Converged lanes
   * execute them in lockstep, interpreted or compiled.
   */
  @ParameterizedTest
  @MethodSource("lanesInStep")
  void warpSynchronousSum(Way way) {
    var in = new Random(73).ints(128, -1000, 1000).toArray();
    var expected = in.clone();
    for (int i = 0; i < in.length; i++) {
      expected[i] += i % 32 == 0 ? 0 : expected[i - 1];
    }
    try (var rig = new SampleRig(way, Sanitize.OFF)) {
      var out = rig.buffer(new int[in.length]);
      rig.run("scan_in_step", Dim3.of(2), Dim3.of(64), 0, rig.buffer(in), out);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("lanesInStep")
  void sanitizerReportsWarpSynchronousCode(Way way) {
    try (var rig = new SampleRig(way, Sanitize.FULL)) {
      var in = rig.buffer(new int[64]);
      var out = rig.buffer(new int[64]);
      var fault =
          catchThrowableOfType(
              KernelFault.class,
              () -> rig.run("scan_in_step", Dim3.of(1), Dim3.of(64), 0, in, out));
      assertThat(fault.findings())
          .isNotEmpty()
          .extracting(Report::kind)
          .containsOnly(Report.Kind.RACE_IN_WARP);
    }
  }
}
