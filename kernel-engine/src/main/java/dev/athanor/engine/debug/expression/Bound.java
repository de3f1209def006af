package dev.athanor.engine.debug.expression;

import java.util.function.IntFunction;

/**
 * An expression whose names are resolved and whose types are checked.
 *
 * @param uniform whether it names no value of the thread that evaluates it, as in {@code i[5] + 1}
 * @param values returns the boxed value in a thread of the block, or throws an {@link
 *     EvaluationException}
 */
public record Bound(JavaType type, boolean uniform, IntFunction<Object> values) {

  /** Returns the boxed value in a thread of the block. */
  public Object value(int thread) {
    return values.apply(thread);
  }

  /** Converts the values to a type. */
  Bound as(JavaType to) {
    return to == type ? this : new Bound(to, uniform, thread -> to.cast(value(thread)));
  }
}
