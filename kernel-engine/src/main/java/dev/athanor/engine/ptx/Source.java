package dev.athanor.engine.ptx;

/**
 * Where something was written: in a {@code .ptx} file, or in the Java code that authored it (column
 * 0 = unknown).
 */
public record Source(String file, int line, int column) {

  /** For statements that no person wrote. */
  public static final Source UNKNOWN = new Source("(generated)", 0, 0);

  @Override
  public String toString() {
    return file + (line == 0 ? "" : ":" + line) + (column == 0 ? "" : ":" + column);
  }
}
