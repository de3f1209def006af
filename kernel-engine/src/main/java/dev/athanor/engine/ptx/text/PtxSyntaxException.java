package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Source;

/** PTX text that cannot be read. The message begins with the place, {@code file:line:column}. */
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

  /** What is wrong there. */
  public String problem() {
    return problem;
  }
}
