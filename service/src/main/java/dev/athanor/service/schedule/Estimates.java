package dev.athanor.service.schedule;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Corrects cost estimates: for each kind of work, it keeps an exponential moving average of actual
 * over estimated time. The time of a batch is divided by cost, so work that mostly runs in batches
 * is estimated at its batched cost.
 */
final class Estimates {

  /** Weight of the latest observation. */
  private static final double WEIGHT = 1.0 / 8;

  /** Maximum number of kinds of work in the LRU cache. */
  private static final int MAX_KINDS = 4096;

  /** Maximum cost, so that sums do not overflow. */
  private static final double MAX_COST = (double) Duration.ofDays(1).toNanos();

  private final Map<Object, Double> ratios =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Double> eldest) {
          return size() > MAX_KINDS;
        }
      };

  /** Returns the corrected cost of a ticket, from 1 ns to one day. */
  long cost(Ticket ticket) {
    double cost = ticket.cost() * ratios.getOrDefault(ticket.work(), 1.0);
    return (long) Math.clamp(cost, 1.0, MAX_COST);
  }

  /**
   * Reduces the estimate of a ticket that was rejected because of it. Otherwise an outlier could
   * prevent this kind of work from ever running again and being measured.
   */
  void doubt(Ticket ticket) {
    ratios.computeIfPresent(ticket.work(), (_, mean) -> mean * (1 - WEIGHT));
  }

  /** Records the measured time of a ticket, its share of the launch. */
  void learn(Ticket ticket, double nanos) {
    double ratio = nanos / ticket.cost();
    ratios.merge(ticket.work(), ratio, (mean, last) -> mean + WEIGHT * (last - mean));
  }
}
