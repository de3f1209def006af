package dev.athanor.cli.report;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** What one suite of {@code athanor verify} found. */
public interface SuiteReport {

  Build athanor();

  Machine device();

  Instant date();

  /** Whether all is right, and all was checked. */
  boolean ok();

  /** What was checked, and how well it did. */
  Table table();

  /** A shorter table, where the whole one has many rows of one kind. */
  default Table overview() {
    return table();
  }

  /** What is wrong, in lines. */
  List<String> complaints();

  /** One paragraph: how many of what, and what is wrong. */
  String summary();

  /** The report for people, to be kept. */
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
