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
 * What waits with one priority: deficit round robin by cost between tenants (Shreedhar and
 * Varghese, 1996), earliest deadline first among a tenant's own. A device sees of each tenant what
 * waits for it; credit and debt are the tenant's on all devices together.
 *
 * <p>Adding, removing and the search for company are logarithmic in the number of tickets; to
 * choose whose turn it is is linear in the number of tenants that wait here.
 */
final class Band {

  /** A tenant's tickets, by their device, in the order of their deadlines. */
  private static final class Flow {
    final Map<Integer, NavigableSet<Entry>> byDevice = new HashMap<>();

    /** The device time it may still take in this round; negative where batches ran ahead. */
    long credit;

    @Nullable Entry head(int device) {
      var waiting = byDevice.get(device);
      return waiting == null ? null : waiting.first();
    }
  }

  /** Those who may join a launch: equal batch keys on one device. */
  private record Mates(Object key, int device) {}

  static final int MOST_URGENCY = Long.SIZE;

  private final Policy policy;

  /** In the order of their turns. An empty flow stays as long as it is in debt. */
  private final LinkedHashMap<String, Flow> flows = new LinkedHashMap<>();

  private final Map<Mates, NavigableSet<Entry>> mates = new HashMap<>();

  /** The cost of what waits, by device and urgency. */
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

  /** The cost of what waits for a device, up to an urgency. */
  long cost(int device, int urgency) {
    return Arrays.stream(costs[device], 0, urgency + 1).sum();
  }

  /**
   * Takes out whose turn it is on a device, first, and who joins: with the same batch key, in this
   * band, within the limits of a launch, nobody made late by it as far as estimates go, and no
   * tenant put further ahead than the arrears allow.
   *
   * <p>Company comes from this band alone. When a band's turn comes, none before it has work for
   * the device: a launch delays nobody of a higher priority for the sake of a lower one.
   *
   * @return nothing when nothing here may run on that device
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
   * The first tenant whose credit pays for its head. Where nobody's does, all are credited at once
   * the rounds that it takes until somebody's does.
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
    throw new AssertionError("rounds were counted until somebody could pay");
  }

  /** Debts of those who have nothing here are paid off too, and forgotten when they are paid. */
  private void credit(int device, long nanos) {
    for (var flow : flows.values()) {
      if (flow.byDevice.isEmpty() || flow.head(device) != null) {
        flow.credit += nanos;
      }
    }
    flows.values().removeIf(flow -> flow.byDevice.isEmpty() && flow.credit >= 0);
  }

  /** Looks at no more mates than a launch may hold. */
  private void join(List<Entry> launch, Ticket.Batch batch, int device, long now) {
    var head = launch.getFirst();
    long rows = batch.rows();
    long end = now + head.cost;
    long deadline = head.ticket.deadline();
    int most = policy.batch().tickets();
    var waiting = mates.get(new Mates(batch.key(), device));
    var candidates = waiting == null ? List.<Entry>of() : waiting.stream().limit(most).toList();
    for (var mate : candidates) {
      long more = Objects.requireNonNull(mate.ticket.batch()).rows();
      long sooner = Math.min(deadline, mate.ticket.deadline());
      if (launch.size() < most
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

  /** Debts end at the arrears: who was alone and took more has taken it from nobody. */
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
