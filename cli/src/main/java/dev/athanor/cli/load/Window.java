package dev.athanor.cli.load;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * What was observed during a stretch of time. Any thread may add to it, late answers even while it
 * is read.
 */
final class Window {

  private static final int DIGITS = 3;

  private final Map<String, Histogram> nanos = new HashMap<>();
  private final Map<String, Long> errors = new TreeMap<>();
  private long right;
  private long wrong;

  /** Adds a request that was answered with a result; all in nanoseconds. */
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

  /** Adds a request that was refused, by the code of the problem, or that had no answer. */
  synchronized void refused(String code) {
    errors.merge(code, 1L, Long::sum);
  }

  /** Adds an answer that was looked at. */
  synchronized void checked(boolean asItHasToBe) {
    if (asItHasToBe) {
      right++;
    } else {
      wrong++;
    }
  }

  /** Adds all that another window has. */
  synchronized void add(Window other) {
    synchronized (other) {
      other.nanos.forEach((what, those) -> histogram(what).add(those));
      other.errors.forEach((code, count) -> errors.merge(code, count, Long::sum));
      right += other.right;
      wrong += other.wrong;
    }
  }

  /** Times in nanoseconds; empty where nothing was observed. */
  synchronized Histogram nanos(String what) {
    return histogram(what).copy();
  }

  synchronized long requests() {
    return histogram("latency").getTotalCount();
  }

  synchronized long right() {
    return right;
  }

  synchronized long wrong() {
    return wrong;
  }

  synchronized Map<String, Long> errors() {
    return new TreeMap<>(errors);
  }
}
