package dev.athanor.engine.ptx;

import org.jspecify.annotations.Nullable;

/**
 * A source position: in a {@code .ptx} file, or in the Java code that authored the kernel (column 0
 * = unknown).
 *
 * @param origin position in the compiler's input, if known ({@code .loc}); for code that a Java
 *     kernel gets from the library, the line that calls the library
 */
public record Source(String file, int line, int column, @Nullable Source origin) {
  public Source(String file, int line, int column) {
    this(file, line, column, null);
  }

  /** Returns whether the position is in PTX text rather than in the code of an author. */
  public boolean isInPtx() {
    return column > 0;
  }

  /** Returns this position with an origin. */
  public Source withOrigin(@Nullable Source made) {
    return made == null ? this : new Source(file, line, column, made);
  }

  /** Position of generated statements. */
  public static final Source UNKNOWN = new Source("(generated)", 0, 0);

  @Override
  public String toString() {
    return file
        + (line == 0 ? "" : ":" + line)
        + (column == 0 ? "" : ":" + column)
        + (origin == null ? "" : " (" + origin + ")");
  }
}
