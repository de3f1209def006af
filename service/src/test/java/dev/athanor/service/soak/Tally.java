package dev.athanor.service.soak;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** The number of requests by kind and outcome. */
final class Tally {

  static final String OK = "ok";

  private final Map<String, Map<String, LongAdder>> counts = new ConcurrentSkipListMap<>();
  private final Queue<String> wrong = new ConcurrentLinkedQueue<>();

  /**
   * Counts a request.
   *
   * @param outcome {@link #OK}, or the error code
   */
  void add(String kind, String outcome) {
    counts
        .computeIfAbsent(kind, _ -> new ConcurrentSkipListMap<>())
        .computeIfAbsent(outcome, _ -> new LongAdder())
        .increment();
  }

  /** Counts a request with an incorrect response. */
  void wrong(String kind, Throwable why) {
    add(kind, "wrong");
    if (wrong.size() < 20) {
      wrong.add(kind + ": " + why);
    }
  }

  Queue<String> wrong() {
    return wrong;
  }

  long of(String outcome) {
    return byOutcome().getOrDefault(outcome, 0L);
  }

  Map<String, Long> byOutcome() {
    return counts.values().stream()
        .flatMap(outcomes -> outcomes.entrySet().stream())
        .collect(
            Collectors.groupingBy(
                Map.Entry::getKey,
                ConcurrentSkipListMap::new,
                Collectors.summingLong(entry -> entry.getValue().sum())));
  }

  /** Returns the counts by kind, then by outcome. */
  Map<String, Map<String, LongAdder>> counts() {
    return counts;
  }
}
