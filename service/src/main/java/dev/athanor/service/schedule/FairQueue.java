package dev.athanor.service.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The tickets that wait for one device. Tenants share its time by start-time fair queueing (Goyal,
 * Vin and Cheng, 1996): the tenant with the least start tag is next, and its tag advances by the
 * cost of its ticket divided by its weight. A tenant that begins to wait starts at the virtual
 * time, the tag of the latest launch, so only the running launches delay its first ticket. Tickets
 * of one tenant are ordered by band, then by due time.
 *
 * <p>Adding, removing and batching are logarithmic in the number of tickets; selecting the next
 * tenant is linear in the number of tenants.
 */
final class FairQueue {

  /** The tickets of a tenant. */
  private final class Flow {
    final NavigableSet<Entry> waiting = new TreeSet<>(Entry.BY_TURN);

    /** Cost of waiting tickets by band and urgency. */
    final long[][] costs = new long[policy.bands()][Entry.MAX_URGENCY + 1];

    final double weight;
    long cost;

    /** The start tag, in units of device time. */
    long start = virtualTime;

    Flow(String tenant) {
      weight = policy.shares().weight(tenant);
    }

    void add(Entry entry, int sign) {
      costs[entry.band - 1][entry.urgency] += sign * entry.cost;
      cost += sign * entry.cost;
    }

    long charge(long cost) {
      return cost == 0 ? 0 : Math.max(1, (long) (cost / weight));
    }

    /** Returns the cost of tickets that precede a new one. */
    long before(Entry newcomer) {
      long sum = 0;
      for (int band = 1; band <= newcomer.band; band++) {
        int urgency = band < newcomer.band ? Entry.MAX_URGENCY : newcomer.urgency;
        sum += Arrays.stream(costs[band - 1], 0, urgency + 1).sum();
      }
      return sum;
    }

    /** Returns the cost of tickets that run before the virtual time reaches a tag. */
    long until(long tag) {
      return (long) Math.clamp((tag - start) * weight, 0.0, (double) cost);
    }
  }

  /** The key of tickets that can share a launch: equal batch keys in one band. */
  private record Mates(Object key, int band) {}

  private final Policy policy;

  /** Flows in the order of arrival. An empty flow stays until the virtual time reaches its tag. */
  private final LinkedHashMap<String, Flow> flows = new LinkedHashMap<>();

  private final Map<Mates, NavigableSet<Entry>> mates = new HashMap<>();

  /** The tenants of the latest launch, which are still charged for it when nothing waits. */
  private Set<String> latest = Set.of();

  private long virtualTime;
  private int size;

  FairQueue(Policy policy) {
    this.policy = policy;
  }

  int size() {
    return size;
  }

  /** Returns the cost of all tickets. */
  long cost() {
    return flows.values().stream().mapToLong(flow -> flow.cost).sum();
  }

  void add(Entry entry) {
    var flow = flows.computeIfAbsent(entry.ticket.tenant(), Flow::new);
    flow.start = Math.max(flow.start, virtualTime);
    include(flow, entry);
    size++;
  }

  void remove(Entry entry) {
    exclude(flow(entry), entry);
    size--;
    prune();
  }

  /** Promotes a ticket by one band. */
  void promote(Entry entry) {
    var flow = flow(entry);
    exclude(flow, entry);
    entry.band--;
    include(flow, entry);
  }

  /**
   * Estimates the cost of the tickets that run before a new one: those of its tenant that precede
   * it, and what the other tenants are entitled to until then.
   */
  long ahead(Entry newcomer) {
    var tenant = newcomer.ticket.tenant();
    var own = Objects.requireNonNullElseGet(flows.get(tenant), () -> new Flow(tenant));
    long before = own.before(newcomer);
    long turn = Math.max(own.start, virtualTime) + own.charge(before);
    return before
        + flows.values().stream()
            .filter(flow -> flow != own)
            .mapToLong(flow -> flow.until(turn))
            .sum();
  }

  /**
   * Removes the next launch: the ticket whose turn it is, followed by the tickets that join its
   * batch. Tickets join if they have the same batch key and band, the launch stays within its
   * limits, no estimated deadline is missed, and no tenant gets ahead by more than the arrears,
   * even if it is alone: a tenant that arrives meanwhile waits for the launch.
   *
   * <p>Batches never span bands, so a launch never delays a ticket of higher priority for one of
   * lower priority.
   *
   * @return empty if no ticket waits
   */
  List<Entry> poll(long now) {
    var next = next();
    if (next == null) {
      return List.of();
    }
    virtualTime = next.start;
    var head = next.waiting.first();
    var launch = new ArrayList<Entry>();
    launch.add(head);
    take(next, head);
    if (head.ticket.batch() != null) {
      join(launch, head.ticket.batch(), next.start + policy.arrears().toNanos(), now);
    }
    latest = launch.stream().map(entry -> entry.ticket.tenant()).collect(Collectors.toSet());
    prune();
    return launch;
  }

  /** Returns the waiting tenant with the least tag; among several, the first to arrive. */
  private @Nullable Flow next() {
    Flow next = null;
    for (var flow : flows.values()) {
      if (!flow.waiting.isEmpty() && (next == null || flow.start < next.start)) {
        next = flow;
      }
    }
    return next;
  }

  /**
   * Adds matching tickets to a launch; examines at most as many as a launch may hold.
   *
   * @param lastTag the tag that no tenant may exceed by joining
   */
  private void join(List<Entry> launch, Ticket.Batch batch, long lastTag, long now) {
    var head = launch.getFirst();
    long rows = batch.rows();
    long end = now + head.cost;
    long deadline = head.ticket.deadline();
    int limit = policy.batch().tickets();
    var waiting = mates.get(new Mates(batch.key(), head.band));
    var candidates = waiting == null ? List.<Entry>of() : waiting.stream().limit(limit).toList();
    for (var mate : candidates) {
      var flow = flow(mate);
      long more = Objects.requireNonNull(mate.ticket.batch()).rows();
      long sooner = Math.min(deadline, mate.ticket.deadline());
      if (launch.size() < limit
          && more <= policy.batch().rows() - rows
          && end + mate.cost <= sooner
          && flow.start + flow.charge(mate.cost) <= lastTag) {
        take(flow, mate);
        launch.add(mate);
        rows += more;
        end += mate.cost;
        deadline = sooner;
      }
    }
  }

  /** Removes a ticket and charges its tenant. */
  private void take(Flow flow, Entry entry) {
    flow.start += flow.charge(entry.cost);
    exclude(flow, entry);
    size--;
  }

  /** Forgets empty flows at the virtual time and, if nothing waits, all but the latest. */
  private void prune() {
    flows.values().removeIf(flow -> flow.waiting.isEmpty() && flow.start <= virtualTime);
    if (size == 0) {
      flows.keySet().retainAll(latest);
    }
  }

  private Flow flow(Entry entry) {
    return Objects.requireNonNull(flows.get(entry.ticket.tenant()));
  }

  private void include(Flow flow, Entry entry) {
    flow.waiting.add(entry);
    flow.add(entry, 1);
    var batch = entry.ticket.batch();
    if (batch != null) {
      mates
          .computeIfAbsent(new Mates(batch.key(), entry.band), _ -> new TreeSet<>(Entry.BY_TURN))
          .add(entry);
    }
  }

  private void exclude(Flow flow, Entry entry) {
    flow.waiting.remove(entry);
    flow.add(entry, -1);
    var batch = entry.ticket.batch();
    if (batch != null) {
      mates.computeIfPresent(
          new Mates(batch.key(), entry.band),
          (_, set) -> {
            set.remove(entry);
            return set.isEmpty() ? null : set;
          });
    }
  }
}
