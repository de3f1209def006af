package dev.athanor.engine.debug;

import dev.athanor.engine.ptx.Source;
import org.jspecify.annotations.Nullable;

/**
 * A breakpoint on a line of a kernel's source.
 *
 * @param file as in {@link Source#file}
 * @param condition for a lane of the warp; null = none
 */
public record Breakpoint(String file, int line, @Nullable Condition condition) {

  /** Returns whether a statement is on the line, in its own source or in the compiler's input. */
  boolean isAt(Source source) {
    var origin = source.origin();
    return (source.line() == line && source.file().equals(file))
        || (origin != null && isAt(origin));
  }
}
