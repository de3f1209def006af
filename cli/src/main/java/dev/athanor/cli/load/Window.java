package dev.athanor.cli.load;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** The observations of a time window. Thread-safe: late responses may be added while it is read. */
final class Window {

  private static final int DIGITS = 3;

  private final Map<String, Histogram> nanos = new HashMap<>();
  private final Map<String, Long> errors = new TreeMap<>();
  private long correct;
  private long wrong;

  /** Adds a successful request; times are in nanoseconds. */
  synchronized void add(long latency, Map<String, Long> phases) {
    record("latency", latency);
    phases.forEach((phase, took) -> {
      record(phase, took);
      switch (phase) {
        case "total" -> record("outside", latency - took);
        case "kernel" -> record("above", latency - took);
        default -> {}
      }
    });
  }

  private void record(String what, long took) {
    histogram(what).recordValue(Math.max(took, 0));
  }

  private Histogram histogram(String what) {
    return nanos.computeIfAbsent(what, _ -> new Histogram(DIGITS));
  }

  /** Adds a failed request. */
  synchronized void failed(String code) {
    errors.merge(code, 1L, Long::sum);
  }

  /** Adds a checked response. */
  synchronized void checked(boolean isCorrect) {
    if (isCorrect) {
      correct++;
    } else {
      wrong++;
    }
  }

  /** Adds the observations of another window. */
  synchronized void add(Window other) {
    synchronized (other) {
      other.nanos.forEach((what, those) -> histogram(what).add(those));
      other.errors.forEach((code, count) -> errors.merge(code, count, Long::sum));
      correct += other.correct;
      wrong += other.wrong;
    }
  }

  /** Returns the times of a phase in nanoseconds; empty if none were observed. */
  synchronized Histogram nanos(String what) {
    return histogram(what).copy();
  }

  synchronized long requests() {
    return histogram("latency").getTotalCount();
  }

  synchronized long correct() {
    return correct;
  }

  synchronized long wrong() {
    return wrong;
  }

  synchronized Map<String, Long> errors() {
    return new TreeMap<>(errors);
  }
}
