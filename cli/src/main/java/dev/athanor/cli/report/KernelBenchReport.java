package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.Samples;
import dev.athanor.ops.bench.Units;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * The results of {@code athanor bench} for a kernel in Java.
 *
 * @param checked whether array indices and integer divisors were checked
 * @param micros times of a launch in microseconds
 * @param arrayBytes total size of the arrays and segments that the launch is given; what the kernel
 *     reads and writes is unknown
 * @param arrayGigabytesPerSecond that size over the median time
 */
public record KernelBenchReport(
    Build athanor,
    Machine device,
    Instant date,
    Effort effort,
    String kernel,
    String grid,
    String block,
    int sharedBytes,
    boolean checked,
    Samples micros,
    long arrayBytes,
    double arrayGigabytesPerSecond) {

  @JsonIgnore
  public Table table() {
    var table =
        new Table(
            "kernel", "blocks", "threads", "median", "min", "max", "arrays", "arrays over median");
    table.add(
        kernel,
        grid,
        block,
        Units.time(micros.median()),
        Units.time(micros.min()),
        Units.time(micros.max()),
        Units.memory(arrayBytes),
        Units.bytes(1e9 * arrayGigabytesPerSecond));
    return table;
  }

  /** Returns the notes below the table, one per line. */
  public List<String> notes() {
    return List.of(
        "%d samples of one launch each, which starts from the given arguments; checks of indices and divisors are %s"
            .formatted(micros.count(), checked ? "on" : "off"),
        "arrays: the size of all arrays, each counted once; the kernel may move more bytes, or fewer");
  }

  /** Returns the report as Markdown. */
  public List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add("# athanor %s bench".formatted(athanor.version()));
    lines.add("");
    lines.add("%s, on %s.".formatted(date, device));
    lines.add("");
    lines.addAll(table().markdown());
    for (var note : notes()) {
      lines.add("");
      lines.add(note);
    }
    return lines;
  }
}
