package dev.athanor.engine.ptx;

import org.jspecify.annotations.Nullable;

/**
 * Where something was written: in a {@code .ptx} file, or in the Java code that authored it (column
 * 0 = unknown).
 *
 * @param origin what a compiler made it from, if it says so ({@code .loc})
 */
public record Source(String file, int line, int column, @Nullable Source origin) {

  public Source(String file, int line, int column) {
    this(file, line, column, null);
  }

  /** The same place, made from another. */
  public Source from(@Nullable Source made) {
    return made == null ? this : new Source(file, line, column, made);
  }

  /** For statements that no person wrote. */
  public static final Source UNKNOWN = new Source("(generated)", 0, 0);

  @Override
  public String toString() {
    return file
        + (line == 0 ? "" : ":" + line)
        + (column == 0 ? "" : ":" + column)
        + (origin == null ? "" : " (" + origin + ")");
  }
}
