package dev.athanor.cli.demo;

import dev.athanor.cli.report.Table;
import dev.athanor.client.Generation;
import dev.athanor.ops.bench.Units;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The results of a demonstration.
 *
 * @param together both sessions at the same time
 * @param again the same requests one after the other
 * @param step one more token of the first session
 * @param weights bytes of the weights and other constants
 * @param caches bytes of the key and value caches for all sessions
 * @param inUse bytes of the caches that the two sessions use
 */
record DemoReport(
    DemoCheckpoint checkpoint,
    List<String> prompts,
    Run together,
    Run again,
    StepTimes step,
    long weights,
    long caches,
    long inUse) {

  /** The tokens of both sessions, and the time that they took. */
  record Run(List<Generation> sessions, Duration time) {

    List<List<Long>> tokens() {
      return sessions.stream().map(Generation::tokens).toList();
    }

    private String rate() {
      int tokens = tokens().stream().mapToInt(List::size).sum();
      double seconds = time.toNanos() / 1e9;
      return "%d tokens in %.2f s, %.1f tokens/s".formatted(tokens, seconds, tokens / seconds);
    }
  }

  /** Returns whether the second run generated the tokens of the first. */
  boolean isReproduced() {
    return together.tokens().equals(again.tokens());
  }

  List<String> lines() {
    var lines = new ArrayList<String>();
    lines.add(
        "Decoder in the layout of Llama: layers %d, hidden %d, vocabulary 256 bytes; on %s"
            .formatted(checkpoint.layers(), checkpoint.hidden(), step.device()));
    lines.add("");
    for (int i = 0; i < prompts.size(); i++) {
      lines.add("Session %d  %s".formatted(i + 1, prompts.get(i)));
      lines.add("        …  " + text(together.tokens().get(i)));
    }
    lines.add("The weights are random: the text means nothing.");
    lines.add("");
    lines.add("First run, both at the same time:     " + together.rate());
    lines.add("Second run, one after the other:      " + again.rate());
    lines.add("A service that has just started is slower at first.");
    lines.add(
        isReproduced()
            ? "With the same seeds, both runs generated the same tokens."
            : "FAILED: with the same seeds, the two runs generated different tokens.");
    lines.add("");
    lines.add("Kernels of one token:");
    lines.addAll(times().text());
    lines.add("");
    lines.add(
        "Memory: weights %s; caches %s, of which the sessions use %s"
            .formatted(Units.memory(weights), Units.memory(caches), Units.memory(inUse)));
    return lines;
  }

  private Table times() {
    var table = new Table("op", "calls", "µs", "share");
    for (var op : step.ops()) {
      table.add(
          op.name(),
          Integer.toString(op.calls()),
          "%.1f".formatted(op.micros()),
          "%.1f%%".formatted(100 * op.micros() / Math.max(step.micros(), Double.MIN_VALUE)));
    }
    return table;
  }

  /** Returns ASCII characters as such, and a period for each other byte. */
  private static String text(List<Long> bytes) {
    return bytes.stream()
        .map(b -> b >= ' ' && b <= '~' ? Character.toString((int) (long) b) : ".")
        .collect(Collectors.joining());
  }
}
