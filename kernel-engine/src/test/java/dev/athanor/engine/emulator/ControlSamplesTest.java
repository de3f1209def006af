package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sample kernels with divergent control flow. */
class ControlSamplesTest {

  static List<Way> ways() {
    return SampleRig.ways("k08_divergent.sm_80", "k08_divergent.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("ways")
  void divergentLoops(Way way) {
    int n = 150;
    var in = new Random(50).ints(n, 1, 100_000).toArray();
    var expected = new int[n];
    for (int i = 0; i < n; i++) {
      for (long v = in[i]; v > 1; v = (v & 1) != 0 ? 3 * v + 1 : v >> 1) {
        expected[i]++;
      }
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[n]);
      rig.run("collatz", Dim3.of(3), Dim3.of(64), 0, rig.buffer(in), out, n);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  /**
   * A point may take many iterations while its neighbor escapes at once; the product is fused with
   * ci.
   */
  @ParameterizedTest
  @MethodSource("ways")
  void mandelbrot(Way way) {
    int width = 45;
    int height = 27;
    int limit = 90;
    var expected = new int[width * height];
    Arrays.setAll(expected, i -> escape(i % width, i / width, width, height, limit));
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[expected.length]);
      rig.run("mandel", new Dim3(3, 4, 1), new Dim3(16, 8, 1), 0, out, width, height, limit);
      assertThat(rig.ints(out)).isEqualTo(expected).contains(1, limit);
    }
  }

  private static int escape(int x, int y, int width, int height, int limit) {
    float cr = 3f * x / width + -2f;
    float ci = (float) (y + y) / height + -1f;
    float zr = 0;
    float zi = 0;
    int steps = 0;
    while (steps < limit && zr * zr + zi * zi < 4) {
      float next = cr + (zr * zr - zi * zi);
      zi = Math.fma(zr + zr, zi, ci);
      zr = next;
      steps++;
    }
    return steps;
  }

  /** A switch in a loop, with calls through a function table. */
  @ParameterizedTest
  @MethodSource("ways")
  void switchesAndCalls(Way way) {
    int n = 150;
    var operations = new Random(51).ints(n, 0, 7).toArray();
    var values = new Random(52).ints(n, -5000, 5000).toArray();
    var expected = new int[n];
    Arrays.setAll(expected, i -> dispatch(operations[i], values[i]));
    try (var rig = new SampleRig(way)) {
      var inOut = rig.buffer(values);
      rig.run("dispatch", Dim3.of(3), Dim3.of(64), 0, rig.buffer(operations), inOut, n);
      assertThat(rig.ints(inOut)).isEqualTo(expected);
    }
  }

  private static int dispatch(int operation, int x) {
    for (int k = 0; k < 8; k++) {
      x =
          switch (operation) {
            case 0 -> x + 5;
            case 1 -> x * 7 - k;
            case 2 -> x / (k + 1);
            case 3 -> (x & 1) != 0 ? x : x >> 1;
            case 4 -> Math.max(x, -x) % 1000;
            case 5 -> k == 0 ? ~x : (~x << k) | (x >>> (32 - k));
            default ->
                switch (Integer.remainderUnsigned(x, 3)) {
                  case 0 -> x * 3 + 1;
                  case 1 -> x ^ (x >> 3);
                  default ->
                      Integer.bitCount(x) + Integer.numberOfLeadingZeros(x) + Integer.reverse(x);
                };
          };
    }
    return x;
  }

  /** Threads of a warp take one lock in turn, which requires independent progress. */
  @ParameterizedTest
  @MethodSource("ways")
  void warpSpinLock(Way way) {
    try (var rig = new SampleRig(way)) {
      var count = rig.buffer(0);
      rig.run("spin_lock_warp", Dim3.of(2), Dim3.of(48), 0, rig.buffer(0), count);
      assertThat(rig.ints(count)).containsExactly(96);
    }
  }
}
