package dev.athanor.service.schedule;

import static dev.athanor.service.schedule.Ticket.atLeast;
import static java.util.Comparator.comparingLong;

import dev.athanor.service.schedule.Decision.Reason;
import dev.athanor.service.schedule.Devices.Run;
import dev.athanor.service.schedule.Devices.Slot;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeSet;

/**
 * Schedules tickets on the streams of devices. It is a pure state machine: it receives {@linkplain
 * Event events} with timestamps and returns {@linkplain Decision decisions}, which its owner
 * executes. It has no threads, no clock and no device, and is not thread-safe.
 *
 * <p>Times are nonnegative nanoseconds since an epoch that the owner chooses. A time earlier than
 * that of a previous event is replaced by the latter.
 *
 * <ul>
 *   <li><b>Admission.</b> A ticket is rejected if the service is draining, its device is lost, its
 *       estimated completion exceeds the deadline, or its tenant's {@linkplain SharedLimit share}
 *       of the queue is full. A ticket that finds an idle stream starts immediately, regardless of
 *       the queue limits. A continuation is rejected neither for a full queue nor for draining.
 *   <li><b>Order.</b> Tenants share each device by weighted fair queueing. Of the tickets of one
 *       tenant, lower bands run first, and within a band the earliest deadline; a ticket without a
 *       deadline is due when it has aged through all bands. Every ticket is promoted by one band
 *       per {@link Policy#age}.
 *   <li><b>Batches.</b> Tickets never wait for a batch to fill. When a ticket's turn comes, waiting
 *       tickets of the same band with the same batch key may join.
 *   <li><b>Devices.</b> The owner assigns each ticket to a device; {@link #quietest} returns the
 *       device with the shortest wait.
 *   <li><b>Estimates.</b> Cost estimates are corrected by measured launch times. Admitted tickets
 *       keep their estimate.
 *   <li><b>Drain.</b> {@link Phase}.
 * </ul>
 *
 * <p>Every event takes time logarithmic in the number of tickets and linear in the number of
 * streams, bands and waiting tenants. Only a device loss and the end of draining visit every
 * ticket.
 */
public final class Scheduler {

  /** The phase of the service with respect to shutdown. */
  public enum Phase {
    SERVING,
    /** Accepts work but reports that it is not ready, until the drain delay has passed. */
    LEAVING,
    /** Rejects new work and finishes accepted work until the drain timeout, then fails it. */
    REFUSING,
    /** No work is left. */
    DRAINED
  }

  /**
   * The current load.
   *
   * @param tickets the number of waiting tickets
   * @param cost the sum of their estimates, in nanoseconds
   * @param hostBytes the host memory that they hold, in bytes
   * @param busy the number of busy streams
   */
  public record Load(int tickets, long cost, long hostBytes, int busy) {}

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final Policy policy;
  private final Devices devices;
  private final Waiting waiting;
  private final Estimates estimates = new Estimates();

  /** Tickets whose clients are waiting, in the order of admission. */
  private final Map<Long, Entry> open = new LinkedHashMap<>();

  /** The open tickets that have a deadline. */
  private final TreeSet<Entry> deadlines = new TreeSet<>(Entry.BY_DEADLINE);

  private Phase phase = Phase.SERVING;
  private long refuseAt = Ticket.NEVER;
  private long endAt = Ticket.NEVER;
  private long now;
  private long sequence;
  private List<Decision> decisions = new ArrayList<>();

  /**
   * Creates an empty scheduler. A stream is used from its first {@link Event.StreamReady} on.
   *
   * @param devices the number of devices
   * @param streams the number of streams per device
   */
  public Scheduler(Policy policy, int devices, int streams) {
    atLeast(1, devices, "the number of devices");
    atLeast(1, streams, "the number of streams");
    this.policy = policy;
    this.devices = new Devices(devices, streams);
    waiting = new Waiting(policy, devices);
  }

  /** Whether the service is ready for new work, for the readiness probe. */
  public boolean isReady() {
    return phase == Phase.SERVING && devices.alive().findAny().isPresent();
  }

  public Phase phase() {
    return phase;
  }

  public Load load() {
    return new Load(waiting.tickets(), waiting.cost(), waiting.hostBytes(), devices.busy());
  }

  /** Returns the number of tickets that wait for a device. */
  public int waiting(int device) {
    return waiting.tickets(device);
  }

  /** Returns the number of waiting tickets of a tenant. */
  public long waiting(String tenant) {
    return waiting.tickets(tenant);
  }

  /** Returns the number of busy streams of a device. */
  public int busy(int device) {
    return devices.busy(device);
  }

  /**
   * Returns the device with the shortest wait for a new ticket: one with an idle stream or else, by
   * the estimates, the first to have one. Empty if all devices are lost.
   */
  public OptionalInt quietest(long nanos) {
    now = Math.max(now, nanos);
    var idlest = devices.idlest(now);
    return idlest.isPresent()
        ? idlest
        : devices
            .alive()
            .boxed()
            .min(comparingLong(device -> devices.delay(device, waiting.cost(device), now)))
            .map(OptionalInt::of)
            .orElse(OptionalInt.empty());
  }

  /** Returns when the next {@link Event.Tick} is due; {@link Ticket#NEVER} if none. */
  public long wake() {
    long drain =
        switch (phase) {
          case LEAVING -> refuseAt;
          case REFUSING -> endAt;
          case SERVING, DRAINED -> Ticket.NEVER;
        };
    return deadlines.isEmpty() ? drain : Math.min(drain, deadlines.first().ticket.deadline() + 1);
  }

  /**
   * Processes an event.
   *
   * @return the decisions to execute, in this order
   * @throws IllegalArgumentException for an unknown device, stream or band, or a duplicate id
   * @throws IllegalStateException if the event is not possible in the stream's state
   */
  public List<Decision> on(long nanos, Event event) {
    atLeast(0, nanos, "the time of an event");
    check(event);
    now = Math.max(now, nanos);
    decisions = new ArrayList<>();
    pass();
    switch (event) {
      case Event.Submit(var ticket) -> submit(ticket);
      case Event.StreamReady(int device, int stream) -> ready(devices.slot(device, stream));
      case Event.Finished(int device, int stream, long took) -> finish(end(device, stream), took);
      case Event.Faulted(int device, int stream) -> fail(end(device, stream), Reason.FAULT, 0);
      case Event.Cancel(long id) -> {
        var entry = open.get(id);
        if (entry != null) {
          close(entry, new Decision.Dropped(entry.ticket));
        }
      }
      case Event.Tick() -> {} // only the time advances
      case Event.DeviceLost(int device) -> lose(device);
      case Event.Drain() -> drain();
    }
    if (phase == Phase.REFUSING && waiting.tickets() == 0 && devices.busy() == 0) {
      phase = Phase.DRAINED;
      decisions.add(new Decision.Drained());
    }
    return decisions;
  }

  private void check(Event event) {
    switch (event) {
      case Event.Submit(var ticket) -> {
        below(devices.count(), ticket.device(), "device");
        below(policy.bands() + 1, ticket.band(), "band");
        if (open.containsKey(ticket.id())) {
          throw new IllegalArgumentException(
              "ticket %d already exists; ids must be unique".formatted(ticket.id()));
        }
      }
      case Event.StreamReady(int device, int stream) -> {
        var slot = slot(device, stream);
        if (slot.idle || slot.run != null) {
          throw new IllegalStateException(
              "stream %d of device %d is already %s and cannot become ready"
                  .formatted(stream, device, slot.idle ? "idle" : "busy"));
        }
      }
      case Event.Finished(int device, int stream, long took) -> {
        atLeast(0, took, "the duration of a launch");
        checkBusy(device, stream);
      }
      case Event.Faulted(int device, int stream) -> checkBusy(device, stream);
      case Event.DeviceLost(int device) -> slot(device, 0);
      case Event.Cancel _, Event.Tick _, Event.Drain _ -> {}
    }
  }

  private void checkBusy(int device, int stream) {
    if (slot(device, stream).run == null && !devices.isLost(device)) {
      throw new IllegalStateException(
          "stream %d of device %d has no running launch".formatted(stream, device));
    }
  }

  private Slot slot(int device, int stream) {
    atLeast(0, device, "a device");
    atLeast(0, stream, "a stream");
    below(devices.count(), device, "device");
    below(devices.streams(), stream, "stream");
    return devices.slot(device, stream);
  }

  private static void below(int end, int given, String what) {
    if (given >= end) {
      throw new IllegalArgumentException(
          "unknown %s %d; the last is %d".formatted(what, given, end - 1));
    }
  }

  /** Handles the passing of time: expired tickets, aging and drain phases. */
  private void pass() {
    while (!deadlines.isEmpty() && deadlines.first().ticket.deadline() < now) {
      var entry = deadlines.first();
      close(entry, new Decision.Expired(entry.ticket));
    }
    waiting.age(now);
    if (phase == Phase.LEAVING && now >= refuseAt) {
      phase = Phase.REFUSING;
    }
    if (phase == Phase.REFUSING && now >= endAt) {
      end();
    }
  }

  private void submit(Ticket ticket) {
    if (phase == Phase.DRAINED || (phase == Phase.REFUSING && !ticket.isContinuation())) {
      refuse(ticket, Reason.DRAINING, seconds(untilDrained()));
      return;
    }
    if (devices.isLost(ticket.device())) {
      refuse(ticket, Reason.DEVICE_LOST, 0);
      return;
    }
    var entry = new Entry(ticket, estimates.cost(ticket), sequence++, now, policy);
    var idle = devices.idle(ticket.device());
    long delay = idle.isPresent() ? 0 : untilTurn(entry);
    if (delay + entry.cost > ticket.deadline() - now) {
      estimates.doubt(ticket);
      refuse(ticket, Reason.DEADLINE_EXCEEDED, 0);
      return;
    }
    if (idle.isEmpty() && !ticket.isContinuation() && !waiting.fits(entry)) {
      long room = devices.delay(waiting.excess(entry), now);
      refuse(ticket, Reason.QUEUE_FULL, seconds(room));
      return;
    }
    open.put(ticket.id(), entry);
    if (ticket.deadline() != Ticket.NEVER) {
      deadlines.add(entry);
    }
    waiting.add(entry);
    decisions.add(new Decision.Admitted(ticket, entry.cost, delay));
    idle.ifPresent(this::start);
  }

  private void refuse(Ticket ticket, Reason reason, long retryAfter) {
    decisions.add(new Decision.Refused(ticket, reason, retryAfter));
  }

  /** Returns the estimated wait of a new ticket for a stream of its device, in nanoseconds. */
  private long untilTurn(Entry newcomer) {
    return devices.delay(newcomer.ticket.device(), waiting.ahead(newcomer), now);
  }

  private long untilDrained() {
    long work = Math.max(devices.longest(now), devices.delay(waiting.cost(), now));
    return Math.min(work, Math.max(0, endAt - now));
  }

  private static long seconds(long nanos) {
    return Math.max(1, Math.ceilDiv(nanos, NANOS_PER_SECOND));
  }

  private void ready(Slot slot) {
    if (!devices.isLost(slot.device)) {
      slot.idle = true;
      start(slot);
    }
  }

  /** Starts the next launch on an idle stream, if any ticket waits. */
  private void start(Slot slot) {
    var launch = waiting.poll(slot.device, now);
    if (!launch.isEmpty()) {
      launch.forEach(entry -> entry.state = Entry.State.RUNNING);
      slot.idle = false;
      slot.run = new Run(launch, now + cost(launch));
      var tickets = launch.stream().map(entry -> entry.ticket).toList();
      decisions.add(new Decision.Started(slot.device, slot.stream, tickets));
    }
  }

  private static long cost(List<Entry> launch) {
    long cost = 0;
    for (var entry : launch) {
      cost += entry.cost;
    }
    return cost;
  }

  /** Ends the launch of a stream; empty for a lost device, whose launches have already failed. */
  private List<Entry> end(int device, int stream) {
    var slot = devices.slot(device, stream);
    var run = slot.run;
    slot.run = null;
    return run == null ? List.of() : run.launch();
  }

  private void finish(List<Entry> launch, long took) {
    double each = (double) took / cost(launch);
    for (var entry : launch) {
      estimates.learn(entry.ticket, each * entry.cost);
      close(entry, new Decision.Done(entry.ticket));
    }
  }

  private void lose(int device) {
    if (!devices.isLost(device)) {
      fail(devices.lose(device), Reason.DEVICE_LOST, 0);
      var queued = open.values().stream().filter(entry -> entry.state == Entry.State.QUEUED);
      fail(queued.filter(e -> e.ticket.device() == device).toList(), Reason.DEVICE_LOST, 0);
    }
  }

  private void drain() {
    switch (phase) {
      case SERVING -> {
        phase = Phase.LEAVING;
        refuseAt = now + policy.drainDelay().toNanos();
        endAt = refuseAt + policy.drainTimeout().toNanos();
        pass();
      }
      case LEAVING, REFUSING -> end();
      case DRAINED -> {}
    }
  }

  /** Fails all remaining tickets without waiting for running launches, which may hang. */
  private void end() {
    fail(List.copyOf(open.values()), Reason.DRAINING, 1);
    phase = Phase.DRAINED;
    decisions.add(new Decision.Drained());
  }

  private void fail(List<Entry> entries, Reason reason, long retryAfter) {
    entries.forEach(e -> close(e, new Decision.Failed(e.ticket, reason, retryAfter)));
  }

  /** Answers the client of a ticket, unless it was answered before. */
  private void close(Entry entry, Decision answer) {
    if (entry.state == Entry.State.CLOSED) {
      return;
    }
    if (entry.state == Entry.State.QUEUED) {
      waiting.remove(entry);
    }
    entry.state = Entry.State.CLOSED;
    open.remove(entry.ticket.id());
    deadlines.remove(entry);
    decisions.add(answer);
  }
}
