package dev.athanor.engine.lift;

/**
 * Reductions over a warp, written as kernel code: lifted like any helper of a kernel. A tree of
 * shuffles leaves the result in lane 0, which passes it to all. Lanes that the last warp of a block
 * lacks are not asked.
 */
final class WarpReductions {
  private static final int LANES = 32;

  private WarpReductions() {}

  /**
   * Returns whether every warp has all lanes, which is a constant for blocks of declared size.
   * Lanes without a lane above them then compute something that never reaches lane 0.
   */
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
        sum += Gpu.shuffleDown(sum, distance);
        continue;
      }
      int above = above(distance);
      int other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? 0 : other;
    }
    return Gpu.shuffle(sum, 0);
  }

  static int max(int value) {
    int max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps()
                  ? Gpu.shuffleDown(max, distance)
                  : Gpu.shuffle(max, above(distance)));
    }
    return Gpu.shuffle(max, 0);
  }

  static int min(int value) {
    int min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps()
                  ? Gpu.shuffleDown(min, distance)
                  : Gpu.shuffle(min, above(distance)));
    }
    return Gpu.shuffle(min, 0);
  }

  static long sum(long value) {
    long sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleDown(sum, distance);
        continue;
      }
      int above = above(distance);
      long other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? 0 : other;
    }
    return Gpu.shuffle(sum, 0);
  }

  static long max(long value) {
    long max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps()
                  ? Gpu.shuffleDown(max, distance)
                  : Gpu.shuffle(max, above(distance)));
    }
    return Gpu.shuffle(max, 0);
  }

  static long min(long value) {
    long min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps()
                  ? Gpu.shuffleDown(min, distance)
                  : Gpu.shuffle(min, above(distance)));
    }
    return Gpu.shuffle(min, 0);
  }

  static float sum(float value) {
    float sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleDown(sum, distance);
        continue;
      }
      int above = above(distance);
      float other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? -0f : other;
    }
    return Gpu.shuffle(sum, 0);
  }

  static float max(float value) {
    float max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps()
                  ? Gpu.shuffleDown(max, distance)
                  : Gpu.shuffle(max, above(distance)));
    }
    return Gpu.shuffle(max, 0);
  }

  static float min(float value) {
    float min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps()
                  ? Gpu.shuffleDown(min, distance)
                  : Gpu.shuffle(min, above(distance)));
    }
    return Gpu.shuffle(min, 0);
  }

  static double sum(double value) {
    double sum = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        sum += Gpu.shuffleDown(sum, distance);
        continue;
      }
      int above = above(distance);
      double other = Gpu.shuffle(sum, above);
      sum += above == Gpu.laneId() ? -0d : other;
    }
    return Gpu.shuffle(sum, 0);
  }

  static double max(double value) {
    double max = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      max =
          Math.max(
              max,
              hasFullWarps()
                  ? Gpu.shuffleDown(max, distance)
                  : Gpu.shuffle(max, above(distance)));
    }
    return Gpu.shuffle(max, 0);
  }

  static double min(double value) {
    double min = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      min =
          Math.min(
              min,
              hasFullWarps()
                  ? Gpu.shuffleDown(min, distance)
                  : Gpu.shuffle(min, above(distance)));
    }
    return Gpu.shuffle(min, 0);
  }
}
