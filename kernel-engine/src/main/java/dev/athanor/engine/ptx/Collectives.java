package dev.athanor.engine.ptx;

/** The meanings of instructions in which the lanes of a warp exchange values (PTX ISA 9.7.13). */
final class Collectives {

  private Collectives() {}

  /**
   * {@code shfl.sync} (PTX ISA 9.7.9.6). Sources: value, lane or distance, clamp and segment mask,
   * member mask; results: the other lane's value and, if asked for, whether it was in range. The
   * value of a lane that takes no part is undefined; it is answered as the lane's own.
   */
  static void shuffle(WarpFunction.Call call, int[][] sources, int[][] results) {
    var value = sources[0].clone();
    for (int lane = 0; lane < 32; lane++) {
      if (((call.activeLanes() >>> lane) & 1) == 0) {
        continue;
      }
      int distance = sources[1][lane] & 31;
      int clamp = sources[2][lane] & 31;
      int segment = (sources[2][lane] >>> 8) & 31;
      int last = (lane & segment) | (clamp & ~segment);
      int other;
      boolean inRange;
      if (call.modifiers().has("up")) {
        other = lane - distance;
        inRange = other >= last;
      } else {
        other =
            call.modifiers().has("down")
                ? lane + distance
                : call.modifiers().has("bfly")
                    ? lane ^ distance
                    : (lane & segment) | (distance & ~segment);
        inRange = other <= last;
      }
      results[0][lane] = value[inRange ? other & 31 : lane];
      if (results.length > 1) {
        results[1][lane] = inRange ? 1 : 0;
      }
    }
  }
}
