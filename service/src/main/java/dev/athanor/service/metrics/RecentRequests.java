package dev.athanor.service.metrics;

import static java.util.Comparator.comparingDouble;

import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.tensor.Tenant;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The slowest requests of the last minutes and the last failures, in bounded memory. A request
 * costs a comparison, unless it is among the slowest of its minute or fails.
 */
public final class RecentRequests {

  static final int MINUTES = 10;

  /** How many requests each minute keeps, and {@link #slowest} returns. */
  static final int SLOWEST = 10;

  static final int FAILURES = 50;
  private static final int MAX_DETAIL = 300;

  /**
   * A request that ran.
   *
   * @param op the op, or {@code pipeline}
   * @param traceId null without a trace
   * @param micros the duration of each phase
   */
  public record Run(
      Instant time,
      Tenant tenant,
      String op,
      String device,
      @Nullable String traceId,
      ToDoubleFunction<Phase> micros) {
    double total() {
      return micros.applyAsDouble(Phase.TOTAL);
    }
  }

  /**
   * A request that failed.
   *
   * @param op the op, {@code pipeline}, or {@code unknown}
   * @param code the error code
   * @param detail the message that the client got, shortened
   * @param traceId null without a trace
   */
  public record Failed(
      Instant time,
      Tenant tenant,
      String op,
      String code,
      String detail,
      @Nullable String traceId) {}

  /** The slowest requests of one minute, counted from 1970; the fastest of them first. */
  private static final class Minute {
    private final long number;
    private final PriorityQueue<Run> runs = new PriorityQueue<>(comparingDouble(Run::total));

    /** Requests that are not slower need no lock. */
    private volatile double threshold = -1;

    Minute(long number) {
      this.number = number;
    }

    void add(Run run) {
      if (run.total() <= threshold) {
        return;
      }
      synchronized (runs) {
        runs.add(run);
        if (runs.size() > SLOWEST) {
          runs.remove();
        }
        if (runs.size() == SLOWEST) {
          threshold = runs.element().total();
        }
      }
    }

    List<Run> runs() {
      synchronized (runs) {
        return List.copyOf(runs);
      }
    }
  }

  private final InstantSource clock;
  private final Deque<Minute> minutes = new ArrayDeque<>();
  private volatile Minute current = new Minute(-1);
  private final Deque<Failed> failures = new ArrayDeque<>();

  RecentRequests(InstantSource clock) {
    this.clock = clock;
  }

  /** Adds a request that the current thread ran. */
  void ran(Tenant tenant, String op, String device, ToDoubleFunction<Phase> micros) {
    var now = clock.instant();
    long number = number(now);
    var minute = current.number == number ? current : begin(number);
    minute.add(new Run(now, tenant, op, device, Traces.id(), micros));
  }

  private static long number(Instant time) {
    return Math.floorDiv(time.getEpochSecond(), Duration.ofMinutes(1).toSeconds());
  }

  private Minute begin(long number) {
    synchronized (minutes) {
      if (current.number != number) {
        current = new Minute(number);
        minutes.addFirst(current);
        if (minutes.size() > MINUTES) {
          minutes.removeLast();
        }
      }
      return current;
    }
  }

  /** Adds a request that failed in the current thread. */
  void failed(Tenant tenant, String op, String code, String detail) {
    var failed =
        new Failed(
            clock.instant(),
            tenant,
            op,
            code,
            detail.length() > MAX_DETAIL ? detail.substring(0, MAX_DETAIL) + "…" : detail,
            Traces.id());
    synchronized (failures) {
      failures.addFirst(failed);
      if (failures.size() > FAILURES) {
        failures.removeLast();
      }
    }
  }

  /** Returns the slowest requests of the last minutes, the slowest first. */
  public List<Run> slowest() {
    long first = number(clock.instant()) - MINUTES;
    List<Minute> kept;
    synchronized (minutes) {
      kept = List.copyOf(minutes);
    }
    return kept.stream()
        .filter(minute -> minute.number > first)
        .flatMap(minute -> minute.runs().stream())
        .sorted(comparingDouble(Run::total).reversed())
        .limit(SLOWEST)
        .toList();
  }

  /** Returns the last failures, the newest first. */
  public List<Failed> failures() {
    synchronized (failures) {
      return List.copyOf(failures);
    }
  }
}
