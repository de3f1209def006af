package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Source;

/**
 * A violation of a rule, or a warning.
 *
 * @param statement the text of the statement; empty = the violation concerns the whole module
 */
public record Violation(Source source, String statement, String problem) {

  /** {@code file:line:column: statement: problem}. */
  @Override
  public String toString() {
    return source + ": " + (statement.isEmpty() ? "" : statement + " ") + problem;
  }
}
