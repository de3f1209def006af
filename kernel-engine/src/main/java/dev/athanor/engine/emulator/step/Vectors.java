package dev.athanor.engine.emulator.step;

import org.jspecify.annotations.Nullable;

/**
 * Loops that are written with a processor's vectors. They give the same bits as plain loops, but
 * for the bits of NaNs that arithmetic gives.
 */
public interface Vectors {

  /** Those of the JVM's module for vectors; null when java was started without it. */
  static @Nullable Vectors available() {
    return ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent()
        ? new IncubatorVectors()
        : null;
  }

  /** How many f32 a vector has, a power of two up to 32. */
  int length();

  /** Puts one word into a vector of each register: {@code words[first + at[i]]} into register i. */
  void broadcast(int[] words, int first, int[] at, float[][] registers, int lane);

  /** Puts words that follow each other, from {@code words[first + at[i]]}, into a vector each. */
  void load(int[] words, int first, int[] at, float[][] registers, int lane);

  /** Copies the vector before the one at a lane to that, in each register. */
  void repeat(float[][] registers, int lane);

  /** Whether a vector is the same number many times. */
  boolean isUniform(int[] numbers, int lane);

  /** Whether a vector and the one before it are the same. */
  boolean isRepeated(int[] numbers, int lane);

  /**
   * Adds to one vector of each of 16 sums, four rows of four. For each four factors of {@code left}
   * and of {@code right} in turn, the product of the factor of the row and that of the column is
   * added, rounded once.
   */
  void addOuterProducts(float[][] sums, float[][] left, float[][] right, int lane);

  /** Adds the products of pairs of factors in turn to one vector of a sum, each rounded once. */
  void addProducts(float[] sum, float[][] left, float[][] right, int lane);
}
