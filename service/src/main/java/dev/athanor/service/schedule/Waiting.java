package dev.athanor.service.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * The waiting tickets of all bands, with exact totals and promotion by age. Every change is
 * logarithmic in the number of tickets.
 */
final class Waiting {

  private final Policy policy;
  private final List<Band> bands = new ArrayList<>();
  private final TreeSet<Entry> rising = new TreeSet<>(Entry.BY_RISE);
  private final int[] byDevice;
  private int tickets;
  private long cost;
  private long hostBytes;

  Waiting(Policy policy, int devices) {
    this.policy = policy;
    byDevice = new int[devices];
    for (int band = 1; band <= policy.bands(); band++) {
      bands.add(new Band(policy, devices));
    }
  }

  /** Whether the queue limits allow another ticket. */
  boolean fits(Entry newcomer) {
    var limits = policy.queue();
    return tickets < limits.tickets()
        && newcomer.cost <= limits.cost().toNanos() - cost
        && newcomer.ticket.hostBytes() <= limits.hostBytes() - hostBytes;
  }

  /** Returns how much waiting work, in device time, must start before the ticket fits. */
  long excess(Entry newcomer) {
    var limits = policy.queue();
    double share =
        Math.max(
            share(1, tickets, limits.tickets()),
            Math.max(
                share(newcomer.cost, cost, limits.cost().toNanos()),
                share(newcomer.ticket.hostBytes(), hostBytes, limits.hostBytes())));
    return (long) (share * cost);
  }

  private static double share(long added, long present, long limit) {
    double excess = (double) present + added - limit;
    return present == 0 ? 0 : Math.clamp(excess / present, 0.0, 1.0);
  }

  void add(Entry entry) {
    place(entry);
    count(entry, 1);
    cost += entry.cost;
    hostBytes += entry.ticket.hostBytes();
  }

  void remove(Entry entry) {
    band(entry).remove(entry);
    forget(entry);
  }

  private void forget(Entry entry) {
    rising.remove(entry);
    count(entry, -1);
    cost -= entry.cost;
    hostBytes -= entry.ticket.hostBytes();
  }

  private void count(Entry entry, int change) {
    tickets += change;
    byDevice[entry.ticket.device()] += change;
  }

  /** Removes the next launch for a device; empty if no ticket waits for it. */
  List<Entry> poll(int device, long now) {
    for (var band : bands) {
      var launch = band.poll(device, now);
      if (!launch.isEmpty()) {
        launch.forEach(this::forget);
        return launch;
      }
    }
    return List.of();
  }

  /** Promotes tickets by one band for each full age that they have waited. */
  void age(long now) {
    while (!rising.isEmpty() && rising.first().rises <= now) {
      var entry = rising.removeFirst();
      band(entry).remove(entry);
      entry.band--;
      entry.rises += policy.age().toNanos();
      place(entry);
    }
  }

  private void place(Entry entry) {
    band(entry).add(entry);
    if (entry.band > 1) {
      rising.add(entry);
    }
  }

  private Band band(Entry entry) {
    return bands.get(entry.band - 1);
  }

  /**
   * Returns an estimate of the device time ahead of a new ticket: all tickets for its device in
   * higher bands, and those in its own band that are at least as urgent, rounded to a power of two.
   */
  long ahead(Entry newcomer) {
    int device = newcomer.ticket.device();
    long sum = 0;
    for (int band = 1; band <= newcomer.band; band++) {
      var before = bands.get(band - 1);
      int urgency = band < newcomer.band ? Band.MOST_URGENCY : newcomer.urgency;
      sum += before.cost(device, urgency);
    }
    return sum;
  }

  /** Returns the number of tickets that wait for a device. */
  int tickets(int device) {
    return byDevice[device];
  }

  /** Returns the cost of tickets that wait for a device. */
  long cost(int device) {
    return bands.stream().mapToLong(band -> band.cost(device, Band.MOST_URGENCY)).sum();
  }

  int tickets() {
    return tickets;
  }

  long cost() {
    return cost;
  }

  long hostBytes() {
    return hostBytes;
  }
}
