package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.Dimensions;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.profile.Banks.Wavefronts;
import dev.athanor.testing.TestTier;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BanksTest {

  private static final int ALL = -1;

  private final Banks banks = new Banks();

  private Wavefronts load(int bytes, IntToLongFunction offset) {
    return banks.of(offsets(offset), bytes, ALL, false);
  }

  private static long[] offsets(IntToLongFunction offset) {
    var offsets = new long[32];
    for (int lane = 0; lane < 32; lane++) {
      offsets[lane] = offset.applyAsLong(lane);
    }
    return offsets;
  }

  private static int gcd(int a, int b) {
    return BigInteger.valueOf(a).gcd(BigInteger.valueOf(b)).intValue();
  }

  @Test
  void wordStridesConflictByCommonDivisor() {
    for (int stride = 1; stride <= 130; stride++) {
      int step = 4 * stride;
      int ways = gcd(stride, 32);
      assertThat(load(4, lane -> (long) lane * step))
          .as("stride %d words", stride)
          .isEqualTo(new Wavefronts(ways, 1, ways, ways));
    }
  }

  @Test
  void paddedColumnsDoNotConflict() {
    assertThat(load(4, lane -> 4L * 32 * lane).ways()).isEqualTo(32);
    assertThat(load(4, lane -> 4L * 33 * lane)).isEqualTo(new Wavefronts(1, 1, 1, 1));
  }

  @Test
  void broadcastsDoNotConflict() {
    assertThat(load(4, _ -> 64)).isEqualTo(new Wavefronts(1, 1, 1, 1));
    assertThat(load(4, lane -> 4L * (lane / 4))).isEqualTo(new Wavefronts(1, 1, 1, 1));
    // two words of one bank, for sixteen lanes each
    assertThat(load(4, lane -> 128L * (lane % 2)).ways()).isEqualTo(2);
    // also bytes and halves of one word
    assertThat(load(1, lane -> lane)).isEqualTo(new Wavefronts(1, 1, 1, 1));
    assertThat(load(2, lane -> 2L * lane)).isEqualTo(new Wavefronts(1, 1, 1, 1));
  }

  /**
   * A stride in vectors: within a phase, the vectors count as banks, 16 for float2 and 8 for
   * float4.
   */
  @ParameterizedTest
  @CsvSource({"8, 16", "16, 8"})
  void vectorStridesConflictWithinPhases(int bytes, int vectors) {
    for (int stride = 1; stride <= 40; stride++) {
      int step = bytes * stride;
      int ways = gcd(stride, vectors);
      int phases = 32 / vectors;
      var request = load(bytes, lane -> (long) lane * step);
      assertThat(request.ways()).as("stride %d", stride).isEqualTo(ways);
      assertThat(request.ideal()).isEqualTo(phases);
      assertThat(request.actual()).isEqualTo(ways * phases);
    }
  }

  @Test
  void broadcastVectorsTakeOneWavefrontPerPhase() {
    assertThat(load(16, _ -> 0)).isEqualTo(new Wavefronts(4, 4, 1, 1));
    assertThat(load(8, _ -> 0)).isEqualTo(new Wavefronts(2, 2, 1, 1));
  }

  /** Rows of 8x8 matrices of 16-bit elements; lane {@code 8m + r} addresses row r of matrix m. */
  @ParameterizedTest
  @ValueSource(ints = {16, 32, 48, 64, 80, 128, 144, 256, 272, 512, 1024})
  void matrixRowsConflictByPitch(int pitch) {
    // eight rows are eight vectors of 16 bytes, pitch / 16 apart
    int ways = gcd(pitch / 16, 8);
    var plain = load(16, lane -> (long) lane % 8 * pitch + 16L * (lane / 8 % (pitch / 16)));
    assertThat(plain.actual()).as("pitch %d", pitch).isEqualTo(4 * ways);
  }

  /** Rows of 8x8 matrices at each chunk of swizzled rows. */
  @ParameterizedTest
  @ValueSource(ints = {16, 32, 64, 128, 256, 512, 1024})
  void swizzlesAvoidColumnConflicts(int rowBytes) {
    var swizzle = Swizzle.of(rowBytes);
    int rows = swizzle.inputs().extent(Axis.ROW);
    var memory =
        swizzle
            .times(Axis.BYTE, Axis.BYTE, rowBytes / swizzle.inputs().extent(Axis.BYTE))
            .then(LinearLayout.of(Axis.BYTE, Axis.BYTE, rowBytes).times(Axis.ROW, Axis.BYTE, rows));
    for (int column = 0; column < rowBytes; column += 16) {
      int from = column;
      var offsets =
          offsets(lane ->
              memory.apply(memory.inputs().pack(Map.of(Axis.BYTE, from, Axis.ROW, lane % 8))));
      assertThat(banks.of(offsets, 16, ALL, false).ways())
          .as("rows of %d bytes, byte %d", rowBytes, column)
          .isEqualTo(1);
    }
    var rowOfLane =
        new LinearLayout(
            Dimensions.of(Axis.LANE, 8),
            memory.inputs(),
            List.of(rowBytes, 2 * rowBytes, 4 * rowBytes));
    assertThat(rowOfLane.then(memory).bankConflicts(16)).isEqualTo(1);
  }

  /** The rank of the addresses and of their banks gives what counting them gives. */
  @Test
  void linearAccessesHaveTheConflictsOfTheirRank() {
    long seed = TestTier.seed();
    var random = new SplittableRandom(seed);
    var found = new HashSet<Integer>();
    for (int round = 0; round < 2000; round++) {
      int bytes = 1 << random.nextInt(5);
      // few bits, or multiples of all banks, so that lanes often share words or banks
      int aligned = random.nextBoolean() ? -bytes : -128;
      var bases =
          random.ints(5, 0, 1 << random.nextInt(4, 13)).map(b -> b & aligned).boxed().toList();
      var access =
          new LinearLayout(Dimensions.of(Axis.LANE, 32), Dimensions.of(Axis.BYTE, 4096), bases);
      int ways = banks.of(offsets(access::apply), bytes, ALL, false).ways();
      assertThat(access.bankConflicts(bytes)).as("seed %d, round %d", seed, round).isEqualTo(ways);
      found.add(ways);
    }
    assertThat(found).contains(1, 2, 4, 8);
  }

  @Test
  void paddingAvoidsMatrixConflicts() {
    assertThat(load(16, lane -> lane % 8 * 128L + 16L * (lane / 8)).ways()).isEqualTo(8);
    assertThat(load(16, lane -> lane % 8 * 144L + 16L * (lane / 8)).ways()).isEqualTo(1);
  }

  @Test
  void onlyActiveLanesCount() {
    var column = offsets(lane -> 128L * lane);
    assertThat(banks.of(column, 4, 0x0000_000F, false)).isEqualTo(new Wavefronts(4, 1, 4, 4));
    assertThat(banks.of(column, 4, 0, false)).isEqualTo(new Wavefronts(0, 0, 0, 0));
    // two matrices of ldmatrix: the first 16 lanes name rows
    var rows = offsets(lane -> 16L * lane);
    assertThat(banks.of(rows, 16, 0xFFFF, false)).isEqualTo(new Wavefronts(2, 2, 2, 1));
  }

  @Test
  void atomicsAtOneAddressSerialize() {
    assertThat(banks.of(offsets(_ -> 0), 4, ALL, true).actual()).isEqualTo(32);
    assertThat(banks.of(offsets(lane -> 4L * lane), 4, ALL, true).actual()).isEqualTo(1);
    assertThat(banks.of(offsets(lane -> 4L * (lane / 4)), 4, ALL, true).actual()).isEqualTo(4);
  }

  /** The definition, word by word: a phase takes as many cycles as its busiest bank has words. */
  private static Wavefronts reference(long[] offsets, int bytes, int mask, boolean atomic) {
    int lanes = bytes <= 4 ? 32 : 128 / bytes;
    int actual = 0;
    int ideal = 0;
    int ways = 0;
    for (int first = 0; first < 32; first += lanes) {
      int waves = busiest(offsets, bytes, mask, atomic, first, first + lanes);
      actual += waves;
      ideal += Math.min(1, waves);
      ways = Math.max(ways, waves);
    }
    return new Wavefronts(actual, ideal, busiest(offsets, bytes, mask, atomic, 0, 32), ways);
  }

  private static int busiest(
      long[] offsets, int bytes, int mask, boolean atomic, int first, int end) {
    Map<Integer, Set<String>> wanted = new HashMap<>();
    for (int lane = first; lane < end; lane++) {
      if ((mask >>> lane & 1) != 0) {
        for (long word = offsets[lane] / 4; word <= (offsets[lane] + bytes - 1) / 4; word++) {
          wanted
              .computeIfAbsent((int) (word % 32), _ -> new HashSet<>())
              .add(atomic ? word + " of " + lane : Long.toString(word));
        }
      }
    }
    return wanted.values().stream().mapToInt(Set::size).max().orElse(0);
  }

  @Test
  void randomRequestsMatchTheDefinition() {
    long seed = TestTier.seed();
    var random = new SplittableRandom(seed);
    for (int round = 0; round < 20_000; round++) {
      int bytes = 1 << random.nextInt(5);
      int range = 1 << random.nextInt(4, 15);
      var offsets = offsets(_ -> random.nextInt(range) / bytes * (long) bytes);
      int mask = random.nextBoolean() ? ALL : random.nextInt();
      boolean atomic = random.nextInt(4) == 0;
      assertThat(banks.of(offsets, bytes, mask, atomic))
          .as("seed %d, round %d", seed, round)
          .isEqualTo(reference(offsets, bytes, mask, atomic));
    }
  }
}
