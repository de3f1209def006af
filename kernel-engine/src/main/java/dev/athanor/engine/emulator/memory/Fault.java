package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.Report;
import java.util.List;
import java.util.stream.Collectors;

/** Stops a block that did something undefined. */
public final class Fault extends RuntimeException {

  /** The most sentences about one fault. */
  static final int MOST_REPORTS = 8;

  private final transient List<Report> reports;

  public Fault(List<Report> reports) {
    super(reports.stream().map(Report::toString).collect(Collectors.joining("; ")));
    this.reports = reports.stream().limit(MOST_REPORTS).toList();
  }

  public List<Report> reports() {
    return reports;
  }
}
