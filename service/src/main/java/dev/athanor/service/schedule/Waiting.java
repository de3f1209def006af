package dev.athanor.service.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * All that waits, in its bands: counted exactly, rising with age. Every change is logarithmic in
 * the number of tickets.
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

  /** Whether there is room for one more. */
  boolean fits(Entry newcomer) {
    var most = policy.queue();
    return tickets < most.tickets()
        && newcomer.cost <= most.cost().toNanos() - cost
        && newcomer.ticket.hostBytes() <= most.hostBytes() - hostBytes;
  }

  /** How much of what waits must be started before there is room, in device time. */
  long excess(Entry newcomer) {
    var most = policy.queue();
    double share =
        Math.max(
            share(1, tickets, most.tickets()),
            Math.max(
                share(newcomer.cost, cost, most.cost().toNanos()),
                share(newcomer.ticket.hostBytes(), hostBytes, most.hostBytes())));
    return (long) (share * cost);
  }

  private static double share(long more, long there, long most) {
    double over = (double) there + more - most;
    return there == 0 ? 0 : Math.clamp(over / there, 0.0, 1.0);
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

  /** Takes out the next launch for a device; nothing when nothing waits that may run there. */
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

  /** Lifts those whose time has come, each by as many bands as it has ages behind it. */
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
   * The device time that a newcomer finds before it, roughly: of what waits for its device, all
   * that is in the bands before, and in its own what was given no more time, to the next power of
   * two.
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

  /** How many wait for a device. */
  int tickets(int device) {
    return byDevice[device];
  }

  /** The device time of those that wait for a device. */
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
