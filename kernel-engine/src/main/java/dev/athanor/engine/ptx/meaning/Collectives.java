package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.WarpFunction;
import java.util.Arrays;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;

/** Semantics of instructions that exchange values between the lanes of a warp (PTX ISA 9.7.13). */
public final class Collectives {

  private Collectives() {}

  /**
   * {@code shfl} and {@code shfl.sync} (PTX ISA 9.7.9.5, 9.7.9.6). Sources: value, lane or
   * distance, clamp and segment mask, and for {@code shfl.sync} a member mask. Results: the source
   * lane's value and, optionally, whether it was in range. A value from an inactive lane is
   * undefined; this returns the lane's own.
   */
  public static void shuffle(WarpFunction.Call call, int[][] sources, int[][] results) {
    var value = sources[0].clone();
    var shuffle = Shuffle.of(call.modifiers());
    for (int lane = 0; lane < 32; lane++) {
      if (((call.activeLanes() >>> lane) & 1) == 0) {
        continue;
      }
      int other = shuffle.source(lane, sources[1][lane], sources[2][lane]);
      boolean inRange = other != Shuffle.NONE;
      results[0][lane] = value[inRange ? other & 31 : lane];
      if (results.length > 1) {
        results[1][lane] = inRange ? 1 : 0;
      }
    }
  }

  /**
   * Combines the predicates of a lane's members. Source 0 is the predicate, source 1 the mask;
   * without a mask, all active lanes are members.
   */
  @FunctionalInterface
  private interface Vote {
    int of(int members, int yes);
  }

  public static void all(WarpFunction.Call call, int[][] sources, int[][] results) {
    vote(call, sources, results, (members, yes) -> yes == members ? 1 : 0);
  }

  public static void any(WarpFunction.Call call, int[][] sources, int[][] results) {
    vote(call, sources, results, (_, yes) -> yes != 0 ? 1 : 0);
  }

  public static void uniform(WarpFunction.Call call, int[][] sources, int[][] results) {
    vote(call, sources, results, (members, yes) -> yes == 0 || yes == members ? 1 : 0);
  }

  public static void ballot(WarpFunction.Call call, int[][] sources, int[][] results) {
    vote(call, sources, results, (_, yes) -> yes);
  }

  private static void vote(WarpFunction.Call call, int[][] sources, int[][] results, Vote vote) {
    for (int lane = 0; lane < 32; lane++) {
      if (contains(call.activeLanes(), lane)) {
        int members = call.activeLanes() & (sources.length > 1 ? sources[1][lane] : -1);
        int yes = 0;
        for (int other = 0; other < 32; other++) {
          yes |= contains(members, other) ? sources[0][other] << other : 0;
        }
        results[0][lane] = vote.of(members, yes);
      }
    }
  }

  /**
   * {@code match.sync}: returns the members with the lane's value, which has one or two words; the
   * mask is last.
   */
  public static void match(WarpFunction.Call call, int[][] sources, int[][] results) {
    boolean all = call.modifiers().has("all");
    for (int lane = 0; lane < 32; lane++) {
      if (contains(call.activeLanes(), lane)) {
        int members = call.activeLanes() & sources[sources.length - 1][lane];
        int same = 0;
        for (int other = 0; other < 32; other++) {
          boolean equal = contains(members, other) && sources[0][lane] == sources[0][other];
          if (sources.length > 2) {
            equal &= sources[1][lane] == sources[1][other];
          }
          same |= equal ? 1 << other : 0;
        }
        results[0][lane] = all && same != members ? 0 : same;
        if (results.length > 1) {
          results[1][lane] = same == members ? 1 : 0;
        }
      }
    }
  }

  /** {@code redux.sync} over the members of each lane's mask. */
  public static WarpFunction reduce(IntBinaryOperator operator) {
    return (call, sources, results) -> {
      for (int lane = 0; lane < 32; lane++) {
        if (contains(call.activeLanes(), lane)) {
          int members = call.activeLanes() & sources[1][lane];
          results[0][lane] =
              IntStream.range(0, 32)
                  .filter(other -> contains(members, other))
                  .map(other -> sources[0][other])
                  .reduce(operator)
                  .orElseThrow();
        }
      }
    };
  }

  /** {@code redux.sync} of f32; with {@code .abs}, of absolute values. */
  public static WarpFunction reduceFloats(ReductionOperation operation) {
    return (call, sources, results) -> {
      var numbers = operation.onFloats(call.modifiers().has("NaN"));
      int kept = call.modifiers().has("abs") ? 0x7FFF_FFFF : -1;
      IntBinaryOperator bits =
          (a, b) ->
              Float.floatToRawIntBits(
                  numbers.apply(Float.intBitsToFloat(a), Float.intBitsToFloat(b)));
      // combined with itself to make the NaN of a lone member canonical
      var values =
          Arrays.stream(sources[0]).map(a -> bits.applyAsInt(a & kept, a & kept)).toArray();
      reduce(bits).apply(call, new int[][] {values, sources[1]}, results);
    };
  }

  /** {@code elect.sync}: elects the lowest member. */
  public static void elect(WarpFunction.Call call, int[][] sources, int[][] results) {
    for (int lane = 0; lane < 32; lane++) {
      if (contains(call.activeLanes(), lane)) {
        int leader = Integer.numberOfTrailingZeros(call.activeLanes() & sources[0][lane]);
        results[0][lane] = leader;
        results[1][lane] = leader == lane ? 1 : 0;
      }
    }
  }

  public static void activeMask(WarpFunction.Call call, int[][] sources, int[][] results) {
    Arrays.fill(results[0], call.activeLanes());
  }

  private static boolean contains(int mask, int lane) {
    return ((mask >>> lane) & 1) != 0;
  }
}
