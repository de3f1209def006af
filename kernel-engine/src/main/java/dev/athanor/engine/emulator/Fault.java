package dev.athanor.engine.emulator;

import java.util.List;

/** Stops a block that did something undefined. */
final class Fault extends RuntimeException {

  /** The most sentences about one fault. */
  static final int MOST_REPORTS = 8;

  private final transient List<String> reports;

  Fault(List<String> reports) {
    super(String.join("; ", reports));
    this.reports = reports.stream().limit(MOST_REPORTS).toList();
  }

  List<String> reports() {
    return reports;
  }
}
