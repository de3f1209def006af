package dev.athanor.engine.debug;

import dev.athanor.engine.device.Report;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a command of a debugger ends. */
public sealed interface Outcome {

  /** The launches have stopped and can be inspected. */
  record Stopped(Stop stop) implements Outcome {}

  /**
   * The launches have ended.
   *
   * @param findings of the sanitizer, and faults
   * @param failure why a launch could not be made or failed otherwise; null = it did not
   */
  record Ended(List<Report> findings, @Nullable String failure) implements Outcome {
    public Ended {
      findings = List.copyOf(findings);
    }
  }
}
