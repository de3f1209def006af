package dev.athanor.engine.debug.expression;

/** An expression has no value in a thread, such as after a division by zero. */
public final class EvaluationException extends RuntimeException {
  public EvaluationException(String message) {
    super(message, null, false, false);
  }
}
