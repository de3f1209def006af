package dev.athanor.engine.lift;

import java.util.function.BiConsumer;
import java.util.function.BinaryOperator;
import java.util.function.IntFunction;

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

  /**
   * Combines the results of warps.
   *
   * @param load reads shared memory
   * @param store writes shared memory
   */
  private static <T> T reduce(
      T ofWarp, BinaryOperator<T> operator, IntFunction<T> load, BiConsumer<Integer, T> store) {
    if (Gpu.laneId() == 0) {
      store.accept(Gpu.warpId(), ofWarp);
    }
    Gpu.barrier();
    T result = load.apply(0);
    for (int warp = 1; warp < warps(); warp++) {
      result = operator.apply(result, load.apply(warp));
    }
    Gpu.barrier();
    return result;
  }

  private static int ofInts(int ofWarp, BinaryOperator<Integer> operator) {
    int[] ofWarps = Gpu.sharedInts(MOST_WARPS);
    return reduce(ofWarp, operator, i -> ofWarps[i], (i, each) -> ofWarps[i] = each);
  }

  static int sum(int value) {
    return ofInts(WarpReductions.sum(value), Integer::sum);
  }

  static int max(int value) {
    return ofInts(WarpReductions.max(value), Math::max);
  }

  static int min(int value) {
    return ofInts(WarpReductions.min(value), Math::min);
  }

  private static long ofLongs(long ofWarp, BinaryOperator<Long> operator) {
    long[] ofWarps = Gpu.sharedLongs(MOST_WARPS);
    return reduce(ofWarp, operator, i -> ofWarps[i], (i, each) -> ofWarps[i] = each);
  }

  static long sum(long value) {
    return ofLongs(WarpReductions.sum(value), Long::sum);
  }

  static long max(long value) {
    return ofLongs(WarpReductions.max(value), Math::max);
  }

  static long min(long value) {
    return ofLongs(WarpReductions.min(value), Math::min);
  }

  private static float ofFloats(float ofWarp, BinaryOperator<Float> operator) {
    float[] ofWarps = Gpu.sharedFloats(MOST_WARPS);
    return reduce(ofWarp, operator, i -> ofWarps[i], (i, each) -> ofWarps[i] = each);
  }

  static float sum(float value) {
    return ofFloats(WarpReductions.sum(value), Float::sum);
  }

  static float max(float value) {
    return ofFloats(WarpReductions.max(value), Math::max);
  }

  static float min(float value) {
    return ofFloats(WarpReductions.min(value), Math::min);
  }

  private static double ofDoubles(double ofWarp, BinaryOperator<Double> operator) {
    double[] ofWarps = Gpu.sharedDoubles(MOST_WARPS);
    return reduce(ofWarp, operator, i -> ofWarps[i], (i, each) -> ofWarps[i] = each);
  }

  static double sum(double value) {
    return ofDoubles(WarpReductions.sum(value), Double::sum);
  }

  static double max(double value) {
    return ofDoubles(WarpReductions.max(value), Math::max);
  }

  static double min(double value) {
    return ofDoubles(WarpReductions.min(value), Math::min);
  }
}
