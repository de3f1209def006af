package dev.athanor.service.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The queue of one priority band. Tenants share device time by deficit round robin (Shreedhar and
 * Varghese, 1996); tickets of one tenant run earliest deadline first. Tickets are queued per
 * device, but a tenant's credit covers all devices.
 *
 * <p>Adding, removing and batching are logarithmic in the number of tickets; selecting the next
 * tenant is linear in the number of waiting tenants.
 */
final class Band {

  /** The tickets of a tenant by device, in deadline order. */
  private static final class Flow {
    final Map<Integer, NavigableSet<Entry>> byDevice = new HashMap<>();

    /** Remaining device time in this round; negative if batches ran ahead of the tenant's share. */
    long credit;

    @Nullable Entry head(int device) {
      var waiting = byDevice.get(device);
      return waiting == null ? null : waiting.first();
    }
  }

  /** The key of tickets that can share a launch: equal batch keys on one device. */
  private record Mates(Object key, int device) {}

  static final int MOST_URGENCY = Long.SIZE;

  private final Policy policy;

  /** Flows in round-robin order. An empty flow stays until its debt is paid. */
  private final LinkedHashMap<String, Flow> flows = new LinkedHashMap<>();

  private final Map<Mates, NavigableSet<Entry>> mates = new HashMap<>();

  /** Cost of waiting tickets by device and urgency. */
  private final long[][] costs;

  private int size;

  Band(Policy policy, int devices) {
    this.policy = policy;
    costs = new long[devices][MOST_URGENCY + 1];
  }

  void add(Entry entry) {
    var ticket = entry.ticket;
    var flow = flows.computeIfAbsent(ticket.tenant(), _ -> new Flow());
    include(flow.byDevice, ticket.device(), entry);
    if (ticket.batch() != null) {
      include(mates, new Mates(ticket.batch().key(), ticket.device()), entry);
    }
    costs[ticket.device()][entry.urgency] += entry.cost;
    size++;
  }

  void remove(Entry entry) {
    var ticket = entry.ticket;
    var flow = flow(entry);
    exclude(flow.byDevice, ticket.device(), entry);
    if (ticket.batch() != null) {
      exclude(mates, new Mates(ticket.batch().key(), ticket.device()), entry);
    }
    costs[ticket.device()][entry.urgency] -= entry.cost;
    size--;
    if (size == 0) {
      flows.clear();
    } else if (flow.byDevice.isEmpty() && flow.credit >= 0) {
      flows.remove(ticket.tenant());
    }
  }

  /** Returns the cost of tickets that wait for a device, up to an urgency. */
  long cost(int device, int urgency) {
    return Arrays.stream(costs[device], 0, urgency + 1).sum();
  }

  /**
   * Removes the next launch for a device: the ticket whose turn it is, followed by the tickets that
   * join its batch. Tickets join if they have the same batch key, the launch stays within its
   * limits, no estimated deadline is missed, and no tenant's debt exceeds the arrears.
   *
   * <p>Batches never span bands, so a launch never delays a ticket of higher priority for one of
   * lower priority.
   *
   * @return empty if no ticket waits for the device
   */
  List<Entry> poll(int device, long now) {
    var flow = turn(device);
    var head = flow == null ? null : flow.head(device);
    if (flow == null || head == null) {
      return List.of();
    }
    var launch = new ArrayList<Entry>();
    launch.add(head);
    take(head);
    if (head.ticket.batch() != null) {
      join(launch, head.ticket.batch(), device, now);
    }
    var next = flow.head(device);
    if (next != null && flow.credit < next.cost) {
      flows.putLast(head.ticket.tenant(), flow);
    }
    return launch;
  }

  /**
   * Returns the first tenant whose credit covers its next ticket. If there is none, all tenants are
   * credited as many rounds as needed.
   */
  private @Nullable Flow turn(int device) {
    long quantum = policy.quantum().toNanos();
    long rounds = Long.MAX_VALUE;
    for (var flow : flows.values()) {
      var head = flow.head(device);
      if (head != null) {
        long lacking = Math.max(0, head.cost - flow.credit);
        rounds = Math.min(rounds, Math.ceilDiv(lacking, quantum));
      }
    }
    if (rounds == Long.MAX_VALUE) {
      return null;
    }
    if (rounds > 0) {
      credit(device, rounds * quantum);
    }
    for (var flow : flows.values()) {
      var head = flow.head(device);
      if (head != null && flow.credit >= head.cost) {
        return flow;
      }
    }
    throw new AssertionError("no tenant has enough credit after crediting");
  }

  /** Credits all tenants that wait here or are in debt, and removes idle tenants without debt. */
  private void credit(int device, long nanos) {
    for (var flow : flows.values()) {
      if (flow.byDevice.isEmpty() || flow.head(device) != null) {
        flow.credit += nanos;
      }
    }
    flows.values().removeIf(flow -> flow.byDevice.isEmpty() && flow.credit >= 0);
  }

  /** Adds matching tickets to a launch; examines at most as many as a launch may hold. */
  private void join(List<Entry> launch, Ticket.Batch batch, int device, long now) {
    var head = launch.getFirst();
    long rows = batch.rows();
    long end = now + head.cost;
    long deadline = head.ticket.deadline();
    int limit = policy.batch().tickets();
    var waiting = mates.get(new Mates(batch.key(), device));
    var candidates = waiting == null ? List.<Entry>of() : waiting.stream().limit(limit).toList();
    for (var mate : candidates) {
      long more = Objects.requireNonNull(mate.ticket.batch()).rows();
      long sooner = Math.min(deadline, mate.ticket.deadline());
      if (launch.size() < limit
          && more <= policy.batch().rows() - rows
          && end + mate.cost <= sooner
          && (flows.size() == 1 || flow(mate).credit - mate.cost >= -policy.arrears().toNanos())) {
        take(mate);
        launch.add(mate);
        rows += more;
        end += mate.cost;
        deadline = sooner;
      }
    }
  }

  /**
   * Charges a ticket. Debt is limited to the arrears, since a tenant that was alone took time from
   * nobody.
   */
  private void take(Entry entry) {
    var flow = flow(entry);
    flow.credit = Math.max(flow.credit - entry.cost, -policy.arrears().toNanos());
    remove(entry);
  }

  private Flow flow(Entry entry) {
    return Objects.requireNonNull(flows.get(entry.ticket.tenant()));
  }

  private static <K> void include(Map<K, NavigableSet<Entry>> sets, K key, Entry entry) {
    sets.computeIfAbsent(key, _ -> new TreeSet<>(Entry.BY_DUE)).add(entry);
  }

  private static <K> void exclude(Map<K, NavigableSet<Entry>> sets, K key, Entry entry) {
    sets.computeIfPresent(
        key,
        (_, set) -> {
          set.remove(entry);
          return set.isEmpty() ? null : set;
        });
  }
}
