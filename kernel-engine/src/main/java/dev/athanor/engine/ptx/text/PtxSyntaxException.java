package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Source;

/** A syntax error in PTX text. The message begins with the position, {@code file:line:column}. */
public final class PtxSyntaxException extends RuntimeException {

  private final Source source;
  private final String problem;

  PtxSyntaxException(Source source, String problem) {
    super(source + ": " + problem);
    this.source = source;
    this.problem = problem;
  }

  public Source source() {
    return source;
  }

  /** Returns the message without the position. */
  public String problem() {
    return problem;
  }
}
