package dev.athanor.service.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * All that waits, in its bands: counted exactly, rising with age. Every change is logarithmic in the
 * number of tickets.
 */
final class Waiting {

  private final Policy policy;
  private final List<Band> bands = new ArrayList<>();
  private final TreeSet<Entry> rising = new TreeSet<>(Entry.BY_RISE);
  private int tickets;
  private long cost;
  private long hostBytes;

  Waiting(Policy policy, int devices) {
    this.policy = policy;
    for (int band = 1; band <= policy.bands(); band++) {
      bands.add(new Band(policy, devices));
    }
  }

  /** Whether there is room for one more. */
  boolean fits(Ticket ticket, long itsCost) {
    var most = policy.queue();
    return tickets < most.tickets()
        && itsCost <= most.cost().toNanos() - cost
        && ticket.hostBytes() <= most.hostBytes() - hostBytes;
  }

  /** How much of what waits must be started before there is room, in device time. */
  long excess(Ticket ticket, long itsCost) {
    var most = policy.queue();
    double share =
        Math.max(
            share(1, tickets, most.tickets()),
            Math.max(
                share(itsCost, cost, most.cost().toNanos()),
                share(ticket.hostBytes(), hostBytes, most.hostBytes())));
    return (long) (share * cost);
  }

  private static double share(long more, long there, long most) {
    double over = (double) there + more - most;
    return there == 0 ? 0 : Math.clamp(over / there, 0.0, 1.0);
  }

  void add(Entry entry) {
    place(entry);
    tickets++;
    cost += entry.cost;
    hostBytes += entry.ticket.hostBytes();
  }

  void remove(Entry entry) {
    band(entry).remove(entry);
    forget(entry);
  }

  private void forget(Entry entry) {
    rising.remove(entry);
    tickets--;
    cost -= entry.cost;
    hostBytes -= entry.ticket.hostBytes();
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
   * The device time that a newcomer finds before it: what waits in its band and in those before it,
   * for that device, and its part of what may run anywhere.
   */
  long ahead(int band, int device, int devices) {
    long sum = 0;
    for (var before : bands.subList(0, band)) {
      sum += before.cost(device) + Math.ceilDiv(before.cost(Ticket.ANY), devices);
    }
    return sum;
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
