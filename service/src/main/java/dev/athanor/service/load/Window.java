package dev.athanor.service.load;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Pattern;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/** What was observed during a stretch of time; any thread may add to it. */
final class Window {

  private static final Pattern PHASE = Pattern.compile("([a-z]+);dur=([0-9.]+)");
  private static final int DIGITS = 3;

  private final Map<String, Histogram> nanos = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> errors = new ConcurrentHashMap<>();

  /** Adds a request that was answered with a result. */
  void add(long latency, Optional<String> serverTiming) {
    record("latency", latency);
    serverTiming.ifPresent(text -> phases(latency, text));
  }

  private void phases(long latency, String text) {
    var phase = PHASE.matcher(text);
    while (phase.find()) {
      long took = Math.round(Double.parseDouble(phase.group(2)) * 1e6);
      record(phase.group(1), took);
      switch (phase.group(1)) {
        case "total" -> record("outside", latency - took);
        case "kernel" -> record("above", latency - took);
        default -> {}
      }
    }
  }

  private void record(String what, long took) {
    nanos
        .computeIfAbsent(what, _ -> new ConcurrentHistogram(DIGITS))
        .recordValue(Math.max(took, 0));
  }

  /** Adds a request that was refused, by the code of the problem, or that had no answer. */
  void refused(String code) {
    errors.computeIfAbsent(code, _ -> new LongAdder()).increment();
  }

  /** Adds an answer that was looked at. */
  void checked(boolean right) {
    counts.computeIfAbsent(right ? "right" : "wrong", _ -> new LongAdder()).increment();
  }

  /** Adds all that another window has. */
  void add(Window other) {
    other.nanos.forEach((what, those) ->
        nanos.computeIfAbsent(what, _ -> new ConcurrentHistogram(DIGITS)).add(those));
    other.counts.forEach((what, count) ->
        counts.computeIfAbsent(what, _ -> new LongAdder()).add(count.sum()));
    other.errors.forEach((code, count) ->
        errors.computeIfAbsent(code, _ -> new LongAdder()).add(count.sum()));
  }

  /** Times in nanoseconds; empty where nothing was observed. */
  Histogram nanos(String what) {
    return nanos.getOrDefault(what, new Histogram(DIGITS));
  }

  long requests() {
    return nanos("latency").getTotalCount();
  }

  long right() {
    return counts.getOrDefault("right", new LongAdder()).sum();
  }

  long wrong() {
    return counts.getOrDefault("wrong", new LongAdder()).sum();
  }

  Map<String, Long> errors() {
    var result = new TreeMap<String, Long>();
    errors.forEach((code, count) -> result.put(code, count.sum()));
    return result;
  }
}
