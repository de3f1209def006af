package dev.athanor.cli.report;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** The results of one suite of {@code athanor verify}. */
public interface SuiteReport {

  Build athanor();

  Machine device();

  Instant date();

  /** Returns whether everything was checked and is correct. */
  boolean ok();

  /** Returns the checks and their results. */
  Table table();

  /** Returns a shorter table if the full one has many similar rows. */
  default Table overview() {
    return table();
  }

  /** Returns the failures as lines of text. */
  List<String> complaints();

  /** Returns a summary in one paragraph. */
  String summary();

  /** Returns the report as Markdown. */
  default List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add("# athanor %s verify".formatted(athanor().version()));
    lines.add("");
    lines.add("%s, on %s.".formatted(date(), device()));
    lines.add("");
    lines.addAll(table().markdown());
    lines.add("");
    summary().lines().forEach(lines::add);
    if (!complaints().isEmpty()) {
      lines.add("");
      complaints().forEach(line -> lines.add(line.isEmpty() ? "" : "    " + line));
    }
    return lines;
  }
}
