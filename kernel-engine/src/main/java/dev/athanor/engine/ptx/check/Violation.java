package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Source;

/** A rule that a kernel breaks. */
public record Violation(Source source, String statement, String problem) {

  /** {@code file:line:column: statement: problem}. */
  @Override
  public String toString() {
    return source + ": " + (statement.isEmpty() ? "" : statement + " ") + problem;
  }
}
