package dev.athanor.engine.lift;

import java.util.function.BiFunction;
import java.util.function.BinaryOperator;

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

  private static <T> T reduce(
      T value,
      BinaryOperator<T> operator,
      BiFunction<T, Integer, T> shuffleXor,
      BiFunction<T, Integer, T> shuffle) {
    T result = value;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (hasFullWarps()) {
        result = operator.apply(result, shuffleXor.apply(result, distance));
      } else {
        int above = above(distance);
        T other = shuffle.apply(result, above);
        result = above == Gpu.laneId() ? result : operator.apply(result, other);
      }
    }
    return hasFullWarps() ? result : shuffle.apply(result, 0);
  }

  private static int ofInts(int value, BinaryOperator<Integer> operator) {
    return reduce(value, operator, Gpu::shuffleXor, Gpu::shuffle);
  }

  static int sum(int value) {
    return ofInts(value, Integer::sum);
  }

  static int max(int value) {
    return ofInts(value, Math::max);
  }

  static int min(int value) {
    return ofInts(value, Math::min);
  }

  private static long ofLongs(long value, BinaryOperator<Long> operator) {
    return reduce(value, operator, Gpu::shuffleXor, Gpu::shuffle);
  }

  static long sum(long value) {
    return ofLongs(value, Long::sum);
  }

  static long max(long value) {
    return ofLongs(value, Math::max);
  }

  static long min(long value) {
    return ofLongs(value, Math::min);
  }

  private static float ofFloats(float value, BinaryOperator<Float> operator) {
    return reduce(value, operator, Gpu::shuffleXor, Gpu::shuffle);
  }

  static float sum(float value) {
    return ofFloats(value, Float::sum);
  }

  static float max(float value) {
    return ofFloats(value, Math::max);
  }

  static float min(float value) {
    return ofFloats(value, Math::min);
  }

  private static double ofDoubles(double value, BinaryOperator<Double> operator) {
    return reduce(value, operator, Gpu::shuffleXor, Gpu::shuffle);
  }

  static double sum(double value) {
    return ofDoubles(value, Double::sum);
  }

  static double max(double value) {
    return ofDoubles(value, Math::max);
  }

  static double min(double value) {
    return ofDoubles(value, Math::min);
  }
}
