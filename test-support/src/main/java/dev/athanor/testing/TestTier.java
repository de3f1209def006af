package dev.athanor.testing;

import java.util.List;
import java.util.stream.IntStream;

/**
 * How much the tests of this run check. A test that is too slow for {@code ./mvnw verify} has the
 * tag {@value #THOROUGH_TAG}; one that draws or selects cases asks {@link #choose} for their
 * number.
 */
public enum TestTier {
  /** {@code ./mvnw verify}: what a change of any line must pass. */
  QUICK,

  /** {@code ./mvnw verify -Dathanor.thorough}: all tests; CI runs it. */
  THOROUGH,

  /** {@code ./mvnw verify -Dathanor.sweep}: all tests in every case, for hours. */
  SWEEP;

  /** The JUnit tag of tests that {@link #QUICK} leaves out. */
  public static final String THOROUGH_TAG = "thorough";

  private static final TestTier CURRENT =
      Boolean.getBoolean("athanor.sweep")
          ? SWEEP
          : Boolean.getBoolean("athanor.thorough") ? THOROUGH : QUICK;

  /** Returns the tier of this run. */
  public static TestTier current() {
    return CURRENT;
  }

  /** Returns the value for the tier of this run. */
  public static int choose(int quick, int thorough, int sweep) {
    return switch (CURRENT) {
      case QUICK -> quick;
      case THOROUGH -> thorough;
      case SWEEP -> sweep;
    };
  }

  /**
   * Returns all of a list, or in {@link #QUICK} every {@code step}-th element, from the first. Of a
   * product of two lists, a step of one more than the length of the second covers both.
   */
  public static <T> List<T> sample(List<T> all, int step) {
    return CURRENT == QUICK
        ? IntStream.range(0, all.size()).filter(i -> i % step == 0).mapToObj(all::get).toList()
        : all;
  }

  /**
   * Returns the seed of random tests: {@code -Dathanor.seed=N}, or else 1 in {@link #QUICK} and a
   * new one for each build in the other tiers. A test prints it when it fails.
   */
  public static long seed() {
    return Long.getLong("athanor.seed", 1);
  }
}
