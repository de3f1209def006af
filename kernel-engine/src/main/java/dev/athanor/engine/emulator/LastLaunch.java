package dev.athanor.engine.emulator;

import dev.athanor.engine.emulator.sanitizer.SanitizedLaunch;
import org.jspecify.annotations.Nullable;

/**
 * The last work of a stream, if it was a sanitized launch: a dependent launch may overlap it.
 * Everything else in a stream runs after all launches before it.
 */
final class LastLaunch {

  private @Nullable SanitizedLaunch launch;

  /** Other work follows, or the stream is synchronized. */
  void clear() {
    launch = null;
  }

  /** Returns the last launch, null = none, and forgets it. */
  @Nullable SanitizedLaunch take() {
    var last = launch;
    launch = null;
    return last;
  }

  void set(SanitizedLaunch last) {
    launch = last;
  }
}
