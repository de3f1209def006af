package dev.athanor.service.schedule;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Corrects estimates by experience: for each kind of work an exponentially weighted mean of (what
 * it took) / (what was estimated). A batch's time is shared out by cost, so a kind of work that
 * mostly runs in company is estimated at what it costs there.
 */
final class Estimates {

  /** How much the last observation counts. */
  private static final double WEIGHT = 1.0 / 8;

  /** The kinds of work that are remembered, those used last. */
  private static final int MOST_KINDS = 4096;

  /** Keeps sums of costs far from overflowing. */
  private static final double MOST_COST = (double) Duration.ofDays(1).toNanos();

  private final Map<Object, Double> ratios =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Double> eldest) {
          return size() > MOST_KINDS;
        }
      };

  /** The ticket's cost as experience has it, at least 1 ns and at most a day. */
  long cost(Ticket ticket) {
    double cost = ticket.cost() * ratios.getOrDefault(ticket.work(), 1.0);
    return (long) Math.clamp(cost, 1.0, MOST_COST);
  }

  /**
   * A ticket was turned away by its estimate, which may stem from a mishap: work that is never run
   * again would never be estimated anew, so it is believed in a little less each time.
   */
  void doubt(Ticket ticket) {
    ratios.computeIfPresent(ticket.work(), (_, mean) -> mean * (1 - WEIGHT));
  }

  /** A ticket's share of its launch was {@code nanos}. */
  void learn(Ticket ticket, double nanos) {
    double ratio = nanos / ticket.cost();
    ratios.merge(ticket.work(), ratio, (mean, last) -> mean + WEIGHT * (last - mean));
  }
}
