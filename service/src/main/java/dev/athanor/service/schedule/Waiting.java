package dev.athanor.service.schedule;

import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The waiting tickets of all devices, within the limits of the queue, and their promotion by age.
 * Every change is logarithmic in the number of tickets.
 */
final class Waiting {

  private final Policy policy;
  private final List<FairQueue> queues;
  private final TreeSet<Entry> rising = new TreeSet<>(Entry.BY_RISE);
  private final SharedLimit tickets;
  private final SharedLimit cost;
  private final SharedLimit hostBytes;

  Waiting(Policy policy, int devices) {
    this.policy = policy;
    queues = Stream.generate(() -> new FairQueue(policy)).limit(devices).toList();
    var limits = policy.queue();
    tickets = new SharedLimit(limits.tickets(), policy.shares());
    cost = new SharedLimit(limits.cost().toNanos(), policy.shares());
    hostBytes = new SharedLimit(limits.hostBytes(), policy.shares());
  }

  /** Whether the queue limits allow another ticket. */
  boolean fits(Entry newcomer) {
    var tenant = newcomer.ticket.tenant();
    return tickets.fits(tenant, 1)
        && cost.fits(tenant, newcomer.cost)
        && hostBytes.fits(tenant, newcomer.ticket.hostBytes());
  }

  /** Returns how much waiting work, in device time, must start before the ticket fits. */
  long excess(Entry newcomer) {
    var tenant = newcomer.ticket.tenant();
    double part =
        Math.max(
            excess(tickets, tenant, 1),
            Math.max(
                excess(cost, tenant, newcomer.cost),
                excess(hostBytes, tenant, newcomer.ticket.hostBytes())));
    return (long) (part * cost());
  }

  /** Returns the part of a tenant's tickets that must start before an added amount fits. */
  private static double excess(SharedLimit limit, String tenant, long added) {
    long held = limit.held(tenant);
    double excess = (double) held + added - limit.limit(tenant);
    return held == 0 ? 0 : Math.clamp(excess / held, 0.0, 1.0);
  }

  void add(Entry entry) {
    queue(entry).add(entry);
    if (entry.band > 1) {
      rising.add(entry);
    }
    count(entry, 1);
  }

  void remove(Entry entry) {
    queue(entry).remove(entry);
    forget(entry);
  }

  private void forget(Entry entry) {
    rising.remove(entry);
    count(entry, -1);
  }

  private void count(Entry entry, int sign) {
    var tenant = entry.ticket.tenant();
    tickets.add(tenant, sign);
    cost.add(tenant, sign * entry.cost);
    hostBytes.add(tenant, sign * entry.ticket.hostBytes());
  }

  /** Removes the next launch for a device; empty if no ticket waits for it. */
  List<Entry> poll(int device, long now) {
    var launch = queues.get(device).poll(now);
    launch.forEach(this::forget);
    return launch;
  }

  /** Promotes tickets by one band for each full age that they have waited. */
  void age(long now) {
    while (!rising.isEmpty() && rising.first().rises <= now) {
      var entry = rising.removeFirst();
      queue(entry).promote(entry);
      entry.rises += policy.age().toNanos();
      if (entry.band > 1) {
        rising.add(entry);
      }
    }
  }

  private FairQueue queue(Entry entry) {
    return queues.get(entry.ticket.device());
  }

  /** Returns an estimate of the device time ahead of a new ticket. */
  long ahead(Entry newcomer) {
    return queue(newcomer).ahead(newcomer);
  }

  /** Returns the number of tickets that wait for a device. */
  int tickets(int device) {
    return queues.get(device).size();
  }

  /** Returns the number of tickets of a tenant. */
  long tickets(String tenant) {
    return tickets.held(tenant);
  }

  /** Returns the cost of tickets that wait for a device. */
  long cost(int device) {
    return queues.get(device).cost();
  }

  int tickets() {
    return (int) tickets.used();
  }

  long cost() {
    return cost.used();
  }

  long hostBytes() {
    return hostBytes.used();
  }
}
