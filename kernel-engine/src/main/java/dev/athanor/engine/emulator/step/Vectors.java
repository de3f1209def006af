package dev.athanor.engine.emulator.step;

import org.jspecify.annotations.Nullable;

/**
 * Loops in SIMD instructions of the CPU. They return the same bits as plain loops, except for the
 * bits of NaNs that arithmetic returns.
 */
public interface Vectors {

  /** Returns the loops of the module jdk.incubator.vector; null if the JVM runs without it. */
  static @Nullable Vectors available() {
    return ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent()
        ? new IncubatorVectors()
        : null;
  }

  /** Returns the number of f32 in a vector, a power of two up to 32. */
  int length();

  /** Broadcasts {@code words[first + at[i]]} to a vector of register i, for each register. */
  void broadcast(int[] words, int first, int[] at, float[][] registers, int lane);

  /** Loads consecutive words from {@code words[first + at[i]]} to a vector of register i. */
  void load(int[] words, int first, int[] at, float[][] registers, int lane);

  /** Copies the vector before the one at a lane to the one at the lane, in each register. */
  void repeat(float[][] registers, int lane);

  /** Returns whether all elements of a vector are equal. */
  boolean isUniform(int[] numbers, int lane);

  /** Returns whether a vector equals the one before it. */
  boolean isRepeated(int[] numbers, int lane);

  /**
   * Accumulates outer products in one vector of each of 16 sums, four rows of four. For each four
   * factors of {@code left} and of {@code right} in turn, adds the product of the row's factor and
   * the column's, rounded once.
   */
  void addOuterProducts(float[][] sums, float[][] left, float[][] right, int lane);

  /** Adds the products of pairs of factors in order to one vector of a sum, each rounded once. */
  void addProducts(float[] sum, float[][] left, float[][] right, int lane);
}
