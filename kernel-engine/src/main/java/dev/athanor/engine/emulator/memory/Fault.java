package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.Report;
import java.util.List;
import java.util.stream.Collectors;

/** Stops a block whose behavior is undefined. */
public final class Fault extends RuntimeException {

  /** The maximum number of reports of one fault. */
  static final int MAX_REPORTS = 8;

  private final transient List<Report> reports;

  public Fault(List<Report> reports) {
    super(reports.stream().map(Report::toString).collect(Collectors.joining("; ")));
    this.reports = reports.stream().limit(MAX_REPORTS).toList();
  }

  public List<Report> reports() {
    return reports;
  }
}
