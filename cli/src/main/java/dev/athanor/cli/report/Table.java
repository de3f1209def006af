package dev.athanor.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A text table with headings. Columns of numbers are right-aligned. */
public final class Table {

  private final List<String> headings;
  private final List<List<String>> rows = new ArrayList<>();

  public Table(String... headings) {
    this.headings = List.of(headings);
  }

  public void add(String... cells) {
    if (cells.length != headings.size()) {
      throw new IllegalArgumentException(
          "%d cells under %d headings".formatted(cells.length, headings.size()));
    }
    rows.add(List.of(cells));
  }

  /** Returns the lines with aligned columns. */
  public List<String> text() {
    var lines = new ArrayList<String>();
    lines.add(text(headings));
    rows.forEach(row -> lines.add(text(row)));
    return lines;
  }

  private String text(List<String> cells) {
    return IntStream.range(0, cells.size())
        .mapToObj(column -> {
          var cell = cells.get(column);
          var space = " ".repeat(width(column) - cell.length());
          return numeric(column) ? space + cell : cell + space;
        })
        .collect(Collectors.joining("  "))
        .stripTrailing();
  }

  private int width(int column) {
    return Math.max(
        headings.get(column).length(),
        rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0));
  }

  private boolean numeric(int column) {
    return rows.stream()
        .map(row -> row.get(column))
        .allMatch(cell ->
            cell.isEmpty()
                || cell.matches(
                    "[-+]?[0-9.]+(%| (µs|ms|s|[kMGT](FLOP|B)/s|([KMGT]i)?B))?|Infinity|NaN"));
  }

  /** Returns the table as Markdown. */
  List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add(markdown(headings));
    lines.add(
        markdown(
            IntStream.range(0, headings.size())
                .mapToObj(column -> numeric(column) ? "---:" : "---")
                .toList()));
    rows.forEach(row -> lines.add(markdown(row)));
    return lines;
  }

  private static String markdown(List<String> cells) {
    return cells.stream().collect(Collectors.joining(" | ", "| ", " |"));
  }
}
