package dev.athanor.engine.debug.expression;

import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;

/** Resolves the names of expressions. */
@FunctionalInterface
public interface Scope {

  /** What a name stands for. Values may throw {@link EvaluationException}s. */
  sealed interface Named {}

  /**
   * A value of each thread.
   *
   * @param values returns the boxed value in a thread of the block
   */
  record Scalar(JavaType type, IntFunction<Object> values) implements Named {}

  /**
   * An array of each thread.
   *
   * @param length returns the number of elements in a thread
   */
  record Array(JavaType element, IntToLongFunction length, ElementReader elements)
      implements Named {}

  /** Reads the elements of an array. */
  @FunctionalInterface
  interface ElementReader {
    /** Returns the boxed element in a thread; the index is valid. */
    Object get(int thread, long index);
  }

  /**
   * Resolves a name such as {@code point.x}, {@code x.length} or {@code %tid.x}.
   *
   * @throws IllegalArgumentException if the name is unknown or its type is not primitive
   */
  Named find(String name);
}
