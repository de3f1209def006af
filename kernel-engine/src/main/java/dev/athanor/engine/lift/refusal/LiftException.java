package dev.athanor.engine.lift.refusal;

import dev.athanor.engine.ptx.Source;

/**
 * A method that cannot be a kernel. The message names the line, the expression and the remedy, such
 * as {@code Saxpy.java:12: null is not a value of a kernel; pass every array, or select with an int
 * (in saxpy)}.
 */
public final class LiftException extends RuntimeException {
  private final Refusal refusal;
  private final transient Source source;

  /**
   * @param method the name of the method that contains the line
   * @param names the names in the refusal's sentence
   */
  public LiftException(Refusal refusal, Source source, String method, Object... names) {
    super("%s: %s (in %s)".formatted(source, refusal.sentence(names), method));
    this.refusal = refusal;
    this.source = source;
  }

  /** Returns the reason. */
  public Refusal refusal() {
    return refusal;
  }

  /** Returns the line of Java. */
  public Source source() {
    return source;
  }
}
