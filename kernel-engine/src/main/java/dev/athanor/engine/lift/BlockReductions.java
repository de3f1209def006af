package dev.athanor.engine.lift;

/**
 * Reductions over a block, written as kernel code: lifted like any helper of a kernel. Each warp
 * leaves its result in shared memory, and every thread combines those of all warps, from the first
 * to the last. The second barrier lets a loop call a reduction again.
 */
final class BlockReductions {
  private static final int LANES = 32;
  private static final int MOST_WARPS = 32;

  private BlockReductions() {}

  /** Returns the number of threads of a block. */
  static int threads() {
    return Gpu.blockDimX() * Gpu.blockDimY() * Gpu.blockDimZ();
  }

  private static int warps() {
    return (threads() + LANES - 1) / LANES;
  }

  static int sum(int value) {
    int[] ofWarps = Gpu.sharedInts(MOST_WARPS);
    int sum = WarpReductions.sum(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = sum;
    }
    Gpu.barrier();
    sum = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      sum += ofWarps[warp];
    }
    Gpu.barrier();
    return sum;
  }

  static int max(int value) {
    int[] ofWarps = Gpu.sharedInts(MOST_WARPS);
    int max = WarpReductions.max(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = max;
    }
    Gpu.barrier();
    max = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      max = Math.max(max, ofWarps[warp]);
    }
    Gpu.barrier();
    return max;
  }

  static int min(int value) {
    int[] ofWarps = Gpu.sharedInts(MOST_WARPS);
    int min = WarpReductions.min(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = min;
    }
    Gpu.barrier();
    min = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      min = Math.min(min, ofWarps[warp]);
    }
    Gpu.barrier();
    return min;
  }

  static long sum(long value) {
    long[] ofWarps = Gpu.sharedLongs(MOST_WARPS);
    long sum = WarpReductions.sum(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = sum;
    }
    Gpu.barrier();
    sum = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      sum += ofWarps[warp];
    }
    Gpu.barrier();
    return sum;
  }

  static long max(long value) {
    long[] ofWarps = Gpu.sharedLongs(MOST_WARPS);
    long max = WarpReductions.max(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = max;
    }
    Gpu.barrier();
    max = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      max = Math.max(max, ofWarps[warp]);
    }
    Gpu.barrier();
    return max;
  }

  static long min(long value) {
    long[] ofWarps = Gpu.sharedLongs(MOST_WARPS);
    long min = WarpReductions.min(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = min;
    }
    Gpu.barrier();
    min = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      min = Math.min(min, ofWarps[warp]);
    }
    Gpu.barrier();
    return min;
  }

  static float sum(float value) {
    float[] ofWarps = Gpu.sharedFloats(MOST_WARPS);
    float sum = WarpReductions.sum(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = sum;
    }
    Gpu.barrier();
    sum = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      sum += ofWarps[warp];
    }
    Gpu.barrier();
    return sum;
  }

  static float max(float value) {
    float[] ofWarps = Gpu.sharedFloats(MOST_WARPS);
    float max = WarpReductions.max(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = max;
    }
    Gpu.barrier();
    max = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      max = Math.max(max, ofWarps[warp]);
    }
    Gpu.barrier();
    return max;
  }

  static float min(float value) {
    float[] ofWarps = Gpu.sharedFloats(MOST_WARPS);
    float min = WarpReductions.min(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = min;
    }
    Gpu.barrier();
    min = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      min = Math.min(min, ofWarps[warp]);
    }
    Gpu.barrier();
    return min;
  }

  static double sum(double value) {
    double[] ofWarps = Gpu.sharedDoubles(MOST_WARPS);
    double sum = WarpReductions.sum(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = sum;
    }
    Gpu.barrier();
    sum = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      sum += ofWarps[warp];
    }
    Gpu.barrier();
    return sum;
  }

  static double max(double value) {
    double[] ofWarps = Gpu.sharedDoubles(MOST_WARPS);
    double max = WarpReductions.max(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = max;
    }
    Gpu.barrier();
    max = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      max = Math.max(max, ofWarps[warp]);
    }
    Gpu.barrier();
    return max;
  }

  static double min(double value) {
    double[] ofWarps = Gpu.sharedDoubles(MOST_WARPS);
    double min = WarpReductions.min(value);
    if (Gpu.laneId() == 0) {
      ofWarps[Gpu.warpId()] = min;
    }
    Gpu.barrier();
    min = ofWarps[0];
    for (int warp = 1; warp < warps(); warp++) {
      min = Math.min(min, ofWarps[warp]);
    }
    Gpu.barrier();
    return min;
  }
}
