package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Inner loops of two consumer warpgroups beside an idle producer. The samples expect their factors
 * in shared memory, so the test adds lines that copy them there from behind the results. Both
 * warpgroups multiply the same factors.
 */
class WarpgroupLoopsTest {

  private static final int THREADS = 384;
  private static final int PRODUCERS = 128;
  private static final int RESULTS = 2048 * THREADS;

  /** Returns lines by which all threads copy the data behind the results to shared memory. */
  private static String copy(int bytes) {
    return """
    {
    .reg .pred more; .reg .b32 at, end, word; .reg .b64 from, own;
    ld.param.u64 from,[pOut]; shl.b32 at,%%r0,2; cvt.u64.u32 own,at;
    add.u64 from,from,own; add.u64 from,from,%d; add.u32 at,at,%%r1; add.u32 end,%%r1,%d;
    COPY:
    ld.global.b32 word,[from]; st.shared.b32 [at],word;
    add.u64 from,from,1536; add.u32 at,at,1536; setp.lt.u32 more,at,end; @more bra COPY;
    fence.proxy.async; bar.sync 0;
    }
    """
        .formatted(RESULTS, bytes);
  }

  /** Runs a kernel with a number of rounds and one more argument, and returns its words. */
  private static int[] run(
      Way way, String kernel, MemorySegment shared, int rounds, Object argument) {
    int bytes = (int) shared.byteSize();
    var start = " shr.u32 %r3,%r0,7;";
    var text = SampleRig.text(way.file());
    assertThat(text).containsOnlyOnce(start);
    text = text.replace(start, copy(bytes) + start);
    var out = MemorySegment.ofArray(new int[(RESULTS + bytes) / 4]);
    out.asSlice(RESULTS).copyFrom(shared);
    try (var rig = new SampleRig(way, text)) {
      var results = rig.buffer(out.toArray(ValueLayout.JAVA_INT));
      var last = argument instanceof int[] words ? rig.buffer(words) : argument;
      rig.run(kernel, Dim3.of(1), Dim3.of(THREADS), bytes, results, rounds, last);
      return rig.ints(results);
    }
  }

  /** Returns the word of a fragment's element. */
  private static int word(int[] found, int wordsPerThread, int thread, int element) {
    return found[thread * wordsPerThread + element];
  }

  /** Returns the position of an element in a tile of 64 rows, of which each warp has 16. */
  private static Fragment.Coordinate place(Fragment fragment, int thread, int element) {
    var at = fragment.at(thread % 32, element);
    return new Fragment.Coordinate(at.row() + 16 * (thread % 128 / 32), at.column());
  }

  private static Boxes boxes(long start, boolean byDepth, int size, int outer, int depth) {
    return new Boxes(start, SwizzleMode.BYTES_128, byDepth, size, outer, depth);
  }

  /** Returns shared memory of small integers in some format. */
  private static MemorySegment shared(int bytes, long seed, byte... values) {
    var random = new Random(seed);
    var all = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      all[i] = values[random.nextInt(values.length)];
    }
    return MemorySegment.ofArray(all);
  }

  /** Returns shared memory of bf16 integers from -4 to 4. */
  private static MemorySegment bfloats(int bytes, long seed) {
    return MemorySegment.ofArray(
        HopperSamplesTest.bfloats(HopperSamplesTest.integers(bytes / 2, seed)));
  }

  private static float bfloat(MemorySegment shared, long address) {
    return HopperSamplesTest.number(shared.get(ValueLayout.JAVA_SHORT, address));
  }

  private static float bfloat(float number) {
    return HopperSamplesTest.number(HopperSamplesTest.bfloats(new float[] {number})[0]);
  }

  static List<Way> signedBytes() {
    return SampleRig.ways("hopper/s8_n128");
  }

  /** The first product of the first round ignores the old registers. */
  @ParameterizedTest
  @MethodSource
  void signedBytes(Way way) {
    var values = new byte[256];
    for (int i = 0; i < values.length; i++) {
      values[i] = (byte) i;
    }
    var shared = shared(32 << 10, 90, values);
    var a = boxes(0, true, 1, 64, 128);
    var b = boxes(16 << 10, true, 1, 128, 128);
    int rounds = 3;
    var found = run(way, "s8_n128", shared, rounds, new int[1]);
    var fragment = Fragments.wide(128);
    for (int thread = PRODUCERS; thread < THREADS; thread++) {
      for (int i = 0; i < fragment.elements(); i++) {
        var at = place(fragment, thread, i);
        int sum = 0;
        for (int k = 0; k < 128; k++) {
          sum +=
              shared.get(ValueLayout.JAVA_BYTE, a.address(at.row(), k))
                  * shared.get(ValueLayout.JAVA_BYTE, b.address(at.column(), k));
        }
        assertThat(word(found, 512, thread, i)).as("%s", at).isEqualTo(rounds * sum);
      }
    }
  }

  static List<Way> promotedAccumulators() {
    return SampleRig.ways("hopper/fp8_promote_n128");
  }

  /** The exact sums of each round are scaled and added in f32. */
  @ParameterizedTest
  @MethodSource
  void promotedAccumulators(Way way) {
    // 0, 1, -1, 2, -2, 3, -4 in e4m3
    var shared = shared(32 << 10, 91, new byte[] {0, 0x38, -0x48, 0x40, -0x40, 0x44, -0x38});
    // the scales share the location of A's bytes
    float[] scales = {2, 32};
    for (int round = 0; round < scales.length; round++) {
      shared.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 64L * round, scales[round]);
      shared.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 64L * round + 32, -scales[round] / 4);
    }
    var a = boxes(0, true, 1, 64, 128);
    var b = boxes(16 << 10, true, 1, 128, 128);
    var found = run(way, "fp8_promote_n128", shared, scales.length, new int[1]);
    var fragment = Fragments.wide(128);
    for (int thread = PRODUCERS; thread < THREADS; thread++) {
      for (int i = 0; i < fragment.elements(); i++) {
        var at = place(fragment, thread, i);
        float sum = 0;
        for (int k = 0; k < 128; k++) {
          sum +=
              QuantSamplesTest.e4m3(shared.get(ValueLayout.JAVA_BYTE, a.address(at.row(), k)))
                  * QuantSamplesTest.e4m3(
                      shared.get(ValueLayout.JAVA_BYTE, b.address(at.column(), k)));
        }
        float expected = at.row() % 16 < 8 ? 34 * sum : -8.5f * sum;
        assertThat(Float.intBitsToFloat(word(found, 512, thread, i)))
            .as("%s", at)
            .isEqualTo(expected);
      }
    }
  }

  static List<Way> unpackedWeights() {
    return SampleRig.ways("hopper/w4a16_rs_n64");
  }

  /** Unpacks A from four bits in registers while the previous product is pending. */
  @ParameterizedTest
  @MethodSource
  void unpackedWeights(Way way) {
    int rounds = 3;
    var weights = new Random(92).ints(2048 * rounds + 512).toArray();
    var scales = new float[2 * THREADS];
    for (int thread = PRODUCERS; thread < THREADS; thread++) {
      scales[2 * thread] = thread % 3 + 1;
      scales[2 * thread + 1] = -(thread % 5 + 1);
      var pair = HopperSamplesTest.bfloats(scales);
      weights[4 * thread + 1024] = (pair[2 * thread] & 0xFFFF) | (pair[2 * thread + 1] << 16);
    }
    var a = new float[2][64][64 * rounds];
    var left = Fragments.a(16, 16, 16);
    for (int thread = PRODUCERS; thread < THREADS; thread++) {
      for (int step = 0; step < 4 * rounds; step++) {
        int word = weights[4 * thread + 2048 * (step / 4) + step % 4];
        for (int i = 0; i < left.elements(); i++) {
          var at = place(left, thread, i);
          int bits = word >>> (4 * (i / 2) + 16 * (i % 2)) & 15;
          a[thread / 128 - 1][at.row()][16 * step + at.column()] =
              bfloat((128 + bits) * scales[2 * thread + i % 2]);
        }
      }
    }
    var shared = bfloats(24 << 10, 93);
    var b = boxes(16 << 10, true, 2, 64, 64);
    var found = run(way, "w4a16_rs_n64", shared, rounds, weights);
    var fragment = Fragments.wide(64);
    for (int thread = PRODUCERS; thread < THREADS; thread++) {
      for (int i = 0; i < fragment.elements(); i++) {
        var at = place(fragment, thread, i);
        float sum = 0;
        for (int k = 0; k < 64 * rounds; k++) {
          sum += a[thread / 128 - 1][at.row()][k] * bfloat(shared, b.address(at.column(), k % 64));
        }
        assertThat(Float.intBitsToFloat(word(found, 512, thread, i))).as("%s", at).isEqualTo(sum);
      }
    }
  }

  static List<Way> attention() {
    return SampleRig.ways("hopper/fa_inner_hd128_bn128");
  }

  /**
   * The previous round's product with V overlaps that of Q with K. Two rounds use the same keys:
   * the first produces exponentials, the second multiplies them and doubles their sums.
   */
  @ParameterizedTest
  @MethodSource
  void attention(Way way) {
    var shared = bfloats(128 << 10, 94);
    var q = boxes(0, true, 2, 128, 128);
    var k = boxes(32 << 10, true, 2, 128, 128);
    var v = boxes(96 << 10, false, 2, 128, 128);
    float scale = 0.02f;
    var found = run(way, "fa_inner", shared, 2, scale);
    var exponentials = new double[64][128];
    for (int row = 0; row < 64; row++) {
      double greatest = Double.NEGATIVE_INFINITY;
      for (int column = 0; column < 128; column++) {
        double sum = 0;
        for (int i = 0; i < 128; i++) {
          sum += bfloat(shared, q.address(row, i)) * bfloat(shared, k.address(column, i));
        }
        exponentials[row][column] = sum;
        greatest = Math.max(greatest, sum);
      }
      for (int column = 0; column < 128; column++) {
        exponentials[row][column] = Math.pow(2, scale * (exponentials[row][column] - greatest));
      }
    }
    var fragment = Fragments.wide(128);
    for (int thread = PRODUCERS; thread < THREADS; thread++) {
      var sums = new double[2];
      for (int i = 0; i < fragment.elements(); i++) {
        var at = place(fragment, thread, i);
        double power = exponentials[at.row()][at.column()];
        sums[i / 2 % 2] += 2 * power;
        int pair = word(found, 256, thread, 64 + i / 2);
        assertThat((double) HopperSamplesTest.number((short) (pair >>> (16 * (i % 2)))))
            .as("exponential %s", at)
            .isCloseTo(power, within(power * 0x1.02p-8));
        double sum = 0;
        double size = 0;
        for (int j = 0; j < 128; j++) {
          double term = exponentials[at.row()][j] * bfloat(shared, v.address(at.column(), j));
          sum += term;
          size += Math.abs(term);
        }
        assertThat((double) Float.intBitsToFloat(word(found, 256, thread, i)))
            .as("sum %s", at)
            .isCloseTo(sum, within(size * 0x1.02p-8));
      }
      for (int half = 0; half < 2; half++) {
        assertThat((double) Float.intBitsToFloat(word(found, 256, thread, 250 + half)))
            .isCloseTo(sums[half], within(sums[half] * 0x1p-16));
      }
    }
  }
}
