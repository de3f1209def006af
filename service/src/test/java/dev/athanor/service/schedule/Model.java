package dev.athanor.service.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.schedule.Decision.Reason;
import dev.athanor.service.schedule.Scheduler.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A simple model of the scheduler, based on linear searches, which checks every decision. It leaves
 * the order of tenants with equal start tags open; everything else is determined. Each ticket must
 * have its own kind of work, so that cost estimates are not updated.
 */
final class Model {

  private enum Status {
    QUEUED,
    RUNNING,
    ANSWERED
  }

  private final class Item {
    final Ticket ticket;
    final int sequence = items.size();
    final long submitted = now;
    Status status = Status.QUEUED;

    Item(Ticket ticket) {
      this.ticket = ticket;
    }

    int band() {
      int own = ticket.band() == Ticket.MIDDLE ? (policy.bands() + 1) / 2 : ticket.band();
      return (int) Math.max(1, own - (now - submitted) / policy.age().toNanos());
    }

    long due() {
      return ticket.deadline() == Ticket.NEVER
          ? submitted + policy.bands() * policy.age().toNanos()
          : ticket.deadline();
    }

    /** Returns the smallest power of two greater than the time from submission to the due time. */
    long timeGiven() {
      long power = 1;
      while (power <= due() - submitted) {
        power *= 2;
      }
      return power;
    }

    boolean waitsFor(int device) {
      return status == Status.QUEUED && ticket.device() == device;
    }
  }

  private static final class Slot {
    boolean idle;
    List<Item> launch = List.of();
    long end;
  }

  private final Policy policy;
  private final Scheduler scheduler;
  private final Map<Long, Item> items = new HashMap<>();
  private final Set<Item> open = new LinkedHashSet<>();
  private final List<List<Slot>> devices = new ArrayList<>();
  private final boolean[] lost;

  /** Start tags by tenant, and the virtual time, of each device. */
  private final List<Map<String, Long>> tags = new ArrayList<>();

  private final long[] virtualTimes;

  /** The tenants of the latest launch of each device. */
  private final List<Set<String>> latest = new ArrayList<>();

  private long now;
  private long drainStart = Ticket.NEVER;
  private boolean drained;

  Model(Policy policy, int devices, int streams) {
    this.policy = policy;
    scheduler = new Scheduler(policy, devices, streams);
    lost = new boolean[devices];
    virtualTimes = new long[devices];
    for (int device = 0; device < devices; device++) {
      this.devices.add(IntStream.range(0, streams).mapToObj(_ -> new Slot()).toList());
      tags.add(new HashMap<>());
      latest.add(Set.of());
    }
  }

  // -- events

  List<Decision> on(long nanos, Event event) {
    now = nanos;
    boolean secondDrain = event instanceof Event.Drain && drainStart != Ticket.NEVER && !drained;
    boolean wasDrained = drained;
    var before = event instanceof Event.Submit(var ticket) ? refusal(ticket) : null;
    boolean idle = event instanceof Event.Submit(var ticket) && idle(ticket);
    var ended = endLaunches(event);
    if (event instanceof Event.Drain && drainStart == Ticket.NEVER) {
      drainStart = now;
    }
    if (event instanceof Event.DeviceLost(int device)) {
      lost[device] = true;
    }
    if (event instanceof Event.StreamReady(int device, int stream) && !lost[device]) {
      stream(device, stream).idle = true;
    }
    boolean hardEnd = !wasDrained && (secondDrain || now >= endAt());

    var decisions = scheduler.on(nanos, event);
    for (var decision : decisions) {
      check(decision, event, ended, hardEnd, before);
    }
    if (event instanceof Event.Submit(var ticket) && before == null) {
      assertThat(items).containsKey(ticket.id());
      if (idle) {
        assertThat(item(ticket).status).as("a stream was idle").isEqualTo(Status.RUNNING);
      }
    }
    if (event instanceof Event.Submit) {
      assertThat(decisions.stream().filter(d -> d instanceof Decision.Refused).count())
          .isEqualTo(before == null ? 0 : 1);
    }
    assertThat(ended).as("ended").allMatch(item -> item.status == Status.ANSWERED);
    if (hardEnd) {
      assertThat(drained).as("ended").isTrue();
    }
    checkState();
    return decisions;
  }

  /** Clears the streams whose launches an event ends, and returns the launched items. */
  private List<Item> endLaunches(Event event) {
    return switch (event) {
      case Event.Finished(int device, int stream, _) -> clear(stream(device, stream));
      case Event.Faulted(int device, int stream) -> clear(stream(device, stream));
      case Event.DeviceLost(int device) ->
          devices.get(device).stream().flatMap(stream -> clear(stream).stream()).toList();
      default -> List.of();
    };
  }

  private static List<Item> clear(Slot stream) {
    var launch = stream.launch;
    stream.launch = List.of();
    stream.idle = false;
    return launch;
  }

  private void check(
      Decision decision, Event event, List<Item> ended, boolean hardEnd, @Nullable Reason refusal) {
    assertThat(drained && !(decision instanceof Decision.Refused)).as("after the drain").isFalse();
    switch (decision) {
      case Decision.Admitted(var ticket, long cost, long delay) -> {
        assertThat(event).isEqualTo(new Event.Submit(ticket));
        assertThat(refusal).as("expected rejection").isNull();
        assertThat(cost).isEqualTo(ticket.cost());
        assertThat(delay).as("delay").isEqualTo(delay(ticket));
        var item = new Item(ticket);
        tags(ticket).put(ticket.tenant(), tag(ticket.device(), ticket.tenant()));
        items.put(ticket.id(), item);
        open.add(item);
      }
      case Decision.Refused(var ticket, var reason, long retryAfter) -> {
        assertThat(event).isEqualTo(new Event.Submit(ticket));
        assertThat(reason).isEqualTo(refusal);
        boolean timeHelps = reason == Reason.QUEUE_FULL || reason == Reason.DRAINING;
        assertThat(retryAfter >= 1).as("retry after " + retryAfter).isEqualTo(timeHelps);
      }
      case Decision.Started(int device, int stream, var tickets) -> {
        start(device, stream, tickets.stream().map(this::item).toList());
      }
      case Decision.Done(var ticket) -> {
        assertThat(event).isInstanceOf(Event.Finished.class);
        assertThat(ended).contains(item(ticket));
        assertThat(now).isLessThanOrEqualTo(ticket.deadline());
        answer(ticket);
      }
      case Decision.Expired(var ticket) -> {
        assertThat(now).isGreaterThan(ticket.deadline());
        answer(ticket);
      }
      case Decision.Dropped(var ticket) -> {
        assertThat(event).isEqualTo(new Event.Cancel(ticket.id()));
        answer(ticket);
      }
      case Decision.Failed(var ticket, var reason, _) -> {
        var item = item(ticket);
        switch (reason) {
          case FAULT -> {
            assertThat(event).isInstanceOf(Event.Faulted.class);
            assertThat(ended).contains(item);
          }
          case DEVICE_LOST -> {
            assertThat(event).isInstanceOf(Event.DeviceLost.class);
            assertThat(ended.contains(item) || unreachable(ticket)).isTrue();
          }
          case DRAINING -> assertThat(hardEnd).isTrue();
          case QUEUE_FULL, DEADLINE_EXCEEDED -> throw new AssertionError(decision);
        }
        answer(ticket);
      }
      case Decision.Drained() -> {
        assertThat(open).as("drained with").isEmpty();
        assertThat(now).isGreaterThanOrEqualTo(hardEnd ? 0 : refuseAt());
        if (!hardEnd) {
          assertThat(busy()).as("busy streams").isZero();
        }
        drained = true;
      }
    }
  }

  private void answer(Ticket ticket) {
    assertThat(item(ticket).status)
        .as("%s was already answered", ticket)
        .isNotEqualTo(Status.ANSWERED);
    item(ticket).status = Status.ANSWERED;
    open.remove(item(ticket));
    forgetTags(ticket.device());
  }

  // -- start tags

  private Map<String, Long> tags(Ticket ticket) {
    return tags.get(ticket.device());
  }

  private long tag(int device, String tenant) {
    boolean forgotten =
        waiting(device).noneMatch(this::inTime) && !latest.get(device).contains(tenant);
    long virtualTime = virtualTimes[device];
    return forgotten
        ? virtualTime
        : Math.max(virtualTime, tags.get(device).getOrDefault(tenant, virtualTime));
  }

  private void charge(Ticket ticket, long cost) {
    tags(ticket).merge(ticket.tenant(), virtual(ticket.tenant(), cost), Long::sum);
  }

  private long virtual(String tenant, long cost) {
    return cost == 0 ? 0 : Math.max(1, (long) (cost / policy.shares().weight(tenant)));
  }

  private void forgetTags(int device) {
    if (waiting(device).findAny().isEmpty()) {
      tags.get(device).keySet().retainAll(latest.get(device));
    }
  }

  // -- starts

  private void start(int device, int index, List<Item> launch) {
    var stream = stream(device, index);
    assertThat(stream.idle && !lost[device]).as("an idle stream").isTrue();
    assertThat(launch).allMatch(item -> item.waitsFor(device)).doesNotHaveDuplicates();
    assertThat(launch).as("before their deadline").allMatch(item -> now <= item.ticket.deadline());
    var head = launch.getFirst();
    var waiting = waiting(device).toList();
    var tag = tag(device, head.ticket.tenant());
    assertThat(tag)
        .as("the least tag")
        .isEqualTo(
            waiting.stream()
                .mapToLong(item -> tag(device, item.ticket.tenant()))
                .min()
                .orElseThrow());
    assertThat(head)
        .as("the first ticket of its tenant")
        .isSameAs(
            waiting.stream()
                .filter(item -> item.ticket.tenant().equals(head.ticket.tenant()))
                .min(
                    Comparator.comparingInt(Item::band)
                        .thenComparingLong(Item::due)
                        .thenComparingInt(item -> item.sequence))
                .orElseThrow());
    checkBatch(head, launch, waiting);
    virtualTimes[device] = tag;
    launch.forEach(item -> charge(item.ticket, item.ticket.cost()));
    launch.forEach(item -> item.status = Status.RUNNING);
    latest.set(
        device, launch.stream().map(item -> item.ticket.tenant()).collect(Collectors.toSet()));
    forgetTags(device);
    stream.idle = false;
    stream.launch = launch;
    stream.end = now + cost(launch);
  }

  private void checkBatch(Item head, List<Item> launch, List<Item> waiting) {
    if (head.ticket.batch() == null) {
      assertThat(launch).hasSize(1);
      return;
    }
    if (launch.size() > 1) {
      assertThat(fits(launch)).as("batch").isTrue();
    }
    assertThat(launch).allMatch(item -> item.band() == head.band() && key(item).equals(key(head)));
    var mates =
        waiting.stream()
            .filter(item -> item.ticket.batch() != null && key(item).equals(key(head)))
            .filter(item -> item.band() == head.band())
            .toList();
    boolean allExamined = mates.size() <= policy.batch().tickets();
    boolean anyShare = policy.arrears().toNanos() > 1_000_000_000;
    for (var mate : mates) {
      if (!launch.contains(mate) && allExamined && anyShare) {
        var more = Stream.concat(launch.stream(), Stream.of(mate)).toList();
        assertThat(fits(more)).as("%s was left behind", mate.ticket).isFalse();
      }
    }
  }

  private boolean fits(List<Item> launch) {
    long end = now + cost(launch);
    return launch.size() <= policy.batch().tickets()
        && launch.stream().mapToLong(Model::rows).sum() <= policy.batch().rows()
        && launch.stream().allMatch(item -> end <= item.ticket.deadline());
  }

  private static Object key(Item item) {
    return Objects.requireNonNull(item.ticket.batch()).key();
  }

  private static long rows(Item item) {
    return Objects.requireNonNull(item.ticket.batch()).rows();
  }

  // -- admission

  /** Returns why a ticket must be rejected now; null if it must be admitted. */
  private @Nullable Reason refusal(Ticket ticket) {
    long refused = ticket.isContinuation() ? endAt() : refuseAt();
    if (drained || now >= refused) {
      return Reason.DRAINING;
    }
    if (unreachable(ticket)) {
      return Reason.DEVICE_LOST;
    }
    if (now + delay(ticket) + ticket.cost() > ticket.deadline()) {
      return Reason.DEADLINE_EXCEEDED;
    }
    var queue = queued().filter(this::inTime).toList();
    var own = queue.stream().filter(item -> item.ticket.tenant().equals(ticket.tenant())).toList();
    var limits = policy.queue();
    boolean fits =
        own.size() + 1 <= limit(ticket, limits.tickets(), queue.size() - own.size())
            && cost(own) + ticket.cost()
                <= limit(ticket, limits.cost().toNanos(), cost(queue) - cost(own))
            && bytes(own) + ticket.hostBytes()
                <= limit(ticket, limits.hostBytes(), bytes(queue) - bytes(own));
    return fits || ticket.isContinuation() || idle(ticket) ? null : Reason.QUEUE_FULL;
  }

  /** Returns the part of a limit that a tenant may hold while others hold some of it. */
  private double limit(Ticket ticket, long total, long others) {
    return Math.ceil(policy.shares().share(ticket.tenant()) * Math.max(0, total - others));
  }

  /** Returns whether the deadline has not passed; expired items do not delay a new ticket. */
  private boolean inTime(Item item) {
    return item.ticket.deadline() >= now;
  }

  private boolean idle(Ticket ticket) {
    return devices.get(ticket.device()).stream().anyMatch(stream -> stream.idle);
  }

  private boolean unreachable(Ticket ticket) {
    return lost[ticket.device()];
  }

  private IntStream present() {
    return IntStream.range(0, lost.length).filter(device -> !lost[device]);
  }

  private long delay(Ticket ticket) {
    return delay(new Item(ticket), ticket.device());
  }

  /**
   * Returns the minimum time in which the streams of a device can finish all work ahead of a new
   * ticket.
   */
  private long delay(Item newcomer, int device) {
    var tenant = newcomer.ticket.tenant();
    var byTenant =
        waiting(device)
            .filter(this::inTime)
            .collect(Collectors.groupingBy(item -> item.ticket.tenant()));
    var own = byTenant.getOrDefault(tenant, List.of());
    long work =
        cost(
            own.stream()
                .filter(item -> item.band() <= newcomer.band())
                .filter(item ->
                    item.band() < newcomer.band() || item.timeGiven() <= newcomer.timeGiven())
                .toList());
    long turn = tag(device, tenant) + virtual(tenant, work);
    for (var other : byTenant.keySet()) {
      if (!other.equals(tenant)) {
        double entitled = (turn - tag(device, other)) * policy.shares().weight(other);
        work += (long) Math.clamp(entitled, 0.0, (double) cost(byTenant.get(other)));
      }
    }
    var streams = devices.get(device);
    long delay =
        Math.max(
            work / streams.size(), streams.stream().mapToLong(this::remaining).min().orElseThrow());
    while (capacity(streams, delay) < work) {
      delay++;
    }
    return delay;
  }

  private long remaining(Slot stream) {
    return stream.launch.isEmpty() ? 0 : Math.max(0, stream.end - now);
  }

  private long capacity(List<Slot> streams, long until) {
    return streams.stream().mapToLong(stream -> Math.max(0, until - remaining(stream))).sum();
  }

  // -- invariants after every event

  private void checkState() {
    var queue = queued().toList();
    var load = scheduler.load();
    assertThat(load).isEqualTo(new Scheduler.Load(queue.size(), cost(queue), bytes(queue), busy()));
    var fresh = queue.stream().filter(item -> !item.ticket.isContinuation()).toList();
    assertThat(fresh.size()).isLessThanOrEqualTo(policy.queue().tickets());
    assertThat(cost(fresh)).isLessThanOrEqualTo(policy.queue().cost().toNanos());
    assertThat(bytes(fresh)).isLessThanOrEqualTo(policy.queue().hostBytes());
    assertThat(open).as("past its deadline").allMatch(item -> item.ticket.deadline() >= now);
    assertThat(queued()).as("without a device").noneMatch(item -> unreachable(item.ticket));
    present()
        .filter(device -> devices.get(device).stream().anyMatch(stream -> stream.idle))
        .forEach(device -> assertThat(waiting(device)).as("beside an idle stream").isEmpty());
    assertThat(scheduler.phase()).isEqualTo(phase());
    assertThat(scheduler.isReady())
        .isEqualTo(drainStart == Ticket.NEVER && present().findAny().isPresent());
    long deadline =
        open.stream().mapToLong(item -> item.ticket.deadline()).min().orElse(Ticket.NEVER);
    long change =
        switch (phase()) {
          case LEAVING -> refuseAt();
          case REFUSING -> endAt();
          case SERVING, DRAINED -> Ticket.NEVER;
        };
    assertThat(scheduler.wake())
        .isEqualTo(Math.min(change, deadline == Ticket.NEVER ? deadline : deadline + 1));
  }

  Phase phase() {
    if (drained) {
      return Phase.DRAINED;
    }
    return now >= refuseAt()
        ? Phase.REFUSING
        : drainStart == Ticket.NEVER ? Phase.SERVING : Phase.LEAVING;
  }

  private long refuseAt() {
    return plus(drainStart, policy.drainDelay());
  }

  private long endAt() {
    return plus(refuseAt(), policy.drainTimeout());
  }

  private static long plus(long moment, Duration more) {
    return moment == Ticket.NEVER ? moment : moment + more.toNanos();
  }

  long wake() {
    return scheduler.wake();
  }

  boolean isAllAnswered() {
    return open.isEmpty();
  }

  private Stream<Item> queued() {
    return open.stream().filter(item -> item.status == Status.QUEUED);
  }

  private Stream<Item> waiting(int device) {
    return queued().filter(item -> item.waitsFor(device));
  }

  private int busy() {
    return (int)
        devices.stream().flatMap(List::stream).filter(stream -> !stream.launch.isEmpty()).count();
  }

  private static long cost(List<Item> items) {
    return items.stream().mapToLong(item -> item.ticket.cost()).sum();
  }

  private static long bytes(List<Item> items) {
    return items.stream().mapToLong(item -> item.ticket.hostBytes()).sum();
  }

  private Item item(Ticket ticket) {
    return Objects.requireNonNull(items.get(ticket.id()), () -> "not admitted: " + ticket);
  }

  private Slot stream(int device, int stream) {
    return devices.get(device).get(stream);
  }
}
