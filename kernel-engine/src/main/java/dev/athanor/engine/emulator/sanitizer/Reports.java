package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The reports of a launch: one for each kind and pair of instructions, with an example from the
 * block with the lowest number. Workers add to it at the same time.
 */
final class Reports {

  private record Key(Report.Kind kind, int first, int second) {}

  private static final class Entry {
    long block;
    Report report;
    long times;

    Entry(long block, Report report) {
      this.block = block;
      this.report = report;
    }
  }

  private final Map<Key, Entry> entries = new HashMap<>();
  private final Set<Report.Kind> ignored;
  private final List<Consumer<Report>> listeners = new ArrayList<>();

  /**
   * @param ignored kinds that are not reported
   */
  Reports(Set<Report.Kind> ignored) {
    this.ignored = ignored;
  }

  /** Calls a listener with each new report from now on. */
  synchronized void listen(Consumer<Report> listener) {
    listeners.add(listener);
  }

  /**
   * Adds a report.
   *
   * @param first the number of one instruction
   * @param second that of the other one; the same if there is only one
   * @param block in which it was found
   * @param report makes it; called only if it is kept
   */
  synchronized void add(
      Report.Kind kind, int first, int second, long block, Supplier<Report> report) {
    if (ignored.contains(kind)) {
      return;
    }
    var key = new Key(kind, Math.min(first, second), Math.max(first, second));
    var entry = entries.get(key);
    if (entry == null) {
      entry = new Entry(block, report.get());
      entries.put(key, entry);
      var added = entry.report;
      listeners.forEach(listener -> listener.accept(added));
    } else if (block < entry.block) {
      entry.block = block;
      entry.report = report.get();
    }
    entry.times++;
  }

  /** Returns all reports, in the order of their instructions. */
  synchronized List<Report> all() {
    var order =
        Comparator.<Map.Entry<Key, Entry>>comparingInt(e -> e.getKey().first)
            .thenComparingInt(e -> e.getKey().second)
            .thenComparing(e -> e.getKey().kind);
    var all = new ArrayList<Report>();
    entries.entrySet().stream()
        .sorted(order)
        .forEach(e -> {
          var found = e.getValue().report;
          all.add(
              new Report(
                  found.kind(),
                  found.place(),
                  found.other(),
                  found.memory(),
                  found.what(),
                  found.remedy(),
                  e.getValue().times));
        });
    return all;
  }
}
