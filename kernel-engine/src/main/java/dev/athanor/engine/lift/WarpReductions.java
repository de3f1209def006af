package dev.athanor.engine.lift;

/**
 * Reductions over a warp, written as kernel code: lifted like any helper of a kernel. Full warps
 * exchange values in pairs, at distances 16, 8, 4, 2 and 1; since the operators are commutative,
 * all lanes compute the same bits. In blocks with an incomplete warp a tree of the same shape
 * leaves the result in lane 0, which passes it to all; lanes that the last warp lacks are not
 * asked.
 */
final class WarpReductions {
  private static final int LANES = 32;

  private WarpReductions() {}

  /** Returns whether every warp has all lanes, which is a constant for blocks of declared size. */
  private static boolean hasFullWarps() {
    return BlockReductions.threads() % LANES == 0;
  }

  /** Returns the lane at a distance above this one, or this one if the warp has no such lane. */
  private static int above(int distance) {
    int lane = Gpu.laneId();
    int lanes = BlockReductions.threads() - LANES * Gpu.warpId();
    return lane + distance < Math.min(lanes, LANES) ? lane + distance : lane;
  }

  static int sum(int value) {
    int sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleXor(sum, distance);
        continue;
      }
      int above = above(distance);
      int other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? 0 : other;
    }
    return hasFullWarps() ? sum : Gpu.shuffle(sum, 0);
  }

  static int max(int value) {
    int max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps() ? Gpu.shuffleXor(max, distance) : Gpu.shuffle(max, above(distance)));
    }
    return hasFullWarps() ? max : Gpu.shuffle(max, 0);
  }

  static int min(int value) {
    int min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps() ? Gpu.shuffleXor(min, distance) : Gpu.shuffle(min, above(distance)));
    }
    return hasFullWarps() ? min : Gpu.shuffle(min, 0);
  }

  static long sum(long value) {
    long sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleXor(sum, distance);
        continue;
      }
      int above = above(distance);
      long other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? 0 : other;
    }
    return hasFullWarps() ? sum : Gpu.shuffle(sum, 0);
  }

  static long max(long value) {
    long max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps() ? Gpu.shuffleXor(max, distance) : Gpu.shuffle(max, above(distance)));
    }
    return hasFullWarps() ? max : Gpu.shuffle(max, 0);
  }

  static long min(long value) {
    long min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps() ? Gpu.shuffleXor(min, distance) : Gpu.shuffle(min, above(distance)));
    }
    return hasFullWarps() ? min : Gpu.shuffle(min, 0);
  }

  static float sum(float value) {
    float sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleXor(sum, distance);
        continue;
      }
      int above = above(distance);
      float other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? -0f : other;
    }
    return hasFullWarps() ? sum : Gpu.shuffle(sum, 0);
  }

  static float max(float value) {
    float max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps() ? Gpu.shuffleXor(max, distance) : Gpu.shuffle(max, above(distance)));
    }
    return hasFullWarps() ? max : Gpu.shuffle(max, 0);
  }

  static float min(float value) {
    float min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps() ? Gpu.shuffleXor(min, distance) : Gpu.shuffle(min, above(distance)));
    }
    return hasFullWarps() ? min : Gpu.shuffle(min, 0);
  }

  static double sum(double value) {
    double sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleXor(sum, distance);
        continue;
      }
      int above = above(distance);
      double other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? -0d : other;
    }
    return hasFullWarps() ? sum : Gpu.shuffle(sum, 0);
  }

  static double max(double value) {
    double max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps() ? Gpu.shuffleXor(max, distance) : Gpu.shuffle(max, above(distance)));
    }
    return hasFullWarps() ? max : Gpu.shuffle(max, 0);
  }

  static double min(double value) {
    double min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps() ? Gpu.shuffleXor(min, distance) : Gpu.shuffle(min, above(distance)));
    }
    return hasFullWarps() ? min : Gpu.shuffle(min, 0);
  }
}
