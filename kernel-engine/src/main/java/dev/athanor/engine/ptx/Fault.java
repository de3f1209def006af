package dev.athanor.engine.ptx;

/** A rule that a kernel breaks. */
public record Fault(Source source, String statement, String problem) {

  /** {@code file:line:column: statement: problem}. */
  @Override
  public String toString() {
    return source + ": " + (statement.isEmpty() ? "" : statement + " ") + problem;
  }
}
