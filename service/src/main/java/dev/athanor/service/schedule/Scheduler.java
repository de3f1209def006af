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
 * Decides who runs when and where. A state machine: it is told {@linkplain Event events} with the
 * time at which they happened and answers with {@linkplain Decision decisions}, which its owner
 * carries out. It has no threads, no clock and no device, and is not safe for use by several
 * threads.
 *
 * <p>Times are nanoseconds since any moment that the owner chooses, not negative. A time before
 * that of an earlier event counts as the latter.
 *
 * <ul>
 *   <li><b>Admission.</b> A ticket is refused when the service is draining, its device is gone, its
 *       deadline would pass first by the estimate, or the queue is full. A ticket that finds a
 *       stream idle is started at once and needs no room, and one that goes on with what was begun
 *       is refused neither for want of room nor when the service is draining.
 *   <li><b>Order.</b> A lower band first; every ticket rises by one band per {@link Policy#age}. In
 *       a band, deficit round robin between tenants; among a tenant's own, earliest deadline first,
 *       where a ticket without one is due when it has aged through all bands.
 *   <li><b>Batches.</b> Nobody waits for company. Whoever waits in the same band with the same key
 *       when a ticket's turn comes may join it.
 *   <li><b>Devices.</b> A ticket waits for its device, which its owner chose; {@link #quietest} is
 *       where a new one would wait the least.
 *   <li><b>Estimates.</b> A stream that is kept busy for a ticket's cost; learnt from what launches
 *       took. What was admitted keeps its estimate.
 *   <li><b>Drain.</b> {@link Phase}.
 * </ul>
 *
 * <p>Every event costs time logarithmic in the number of tickets, and linear in that of streams,
 * bands and, for a start, the tenants of one band. Only the loss of a device and the end of a drain
 * look at every ticket.
 */
public final class Scheduler {

  /** How far the service has gone towards its end. */
  public enum Phase {
    SERVING,
    /** Serves as before, but says that it is not ready, until the drain delay is over. */
    LEAVING,
    /** Takes nothing new in; finishes what is there until the drain timeout, then fails it. */
    REFUSING,
    /** Nothing is left. */
    DRAINED
  }

  /**
   * What is there now.
   *
   * @param tickets how many wait
   * @param cost the sum of their estimates, in nanoseconds
   * @param hostBytes the host memory that they hold
   * @param busy how many streams have a launch under way
   */
  public record Load(int tickets, long cost, long hostBytes, int busy) {}

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final Policy policy;
  private final Devices devices;
  private final Waiting waiting;
  private final Estimates estimates = new Estimates();

  /** Tickets whose clients wait for an answer, in the order of admission. */
  private final Map<Long, Entry> open = new LinkedHashMap<>();

  /** Of these, those with a deadline. */
  private final TreeSet<Entry> deadlines = new TreeSet<>(Entry.BY_DEADLINE);

  private Phase phase = Phase.SERVING;
  private long refuseAt = Ticket.NEVER;
  private long endAt = Ticket.NEVER;
  private long now;
  private long sequence;
  private List<Decision> decisions = new ArrayList<>();

  /**
   * A scheduler with nothing to do. A stream takes part from its first {@link Event.StreamReady}.
   *
   * @param devices how many
   * @param streams how many each of them has
   */
  public Scheduler(Policy policy, int devices, int streams) {
    atLeast(1, devices, "the number of devices");
    atLeast(1, streams, "the number of streams");
    this.policy = policy;
    this.devices = new Devices(devices, streams);
    waiting = new Waiting(policy, devices);
  }

  /** Whether new work is welcome here rather than elsewhere: what the readiness probe is told. */
  public boolean isReady() {
    return phase == Phase.SERVING && devices.alive().findAny().isPresent();
  }

  public Phase phase() {
    return phase;
  }

  public Load load() {
    return new Load(waiting.tickets(), waiting.cost(), waiting.hostBytes(), devices.busy());
  }

  /** How many tickets wait for a device. */
  public int waiting(int device) {
    return waiting.tickets(device);
  }

  /** How many streams of a device have a launch under way. */
  public int busy(int device) {
    return devices.busy(device);
  }

  /**
   * The device on which something new would wait the least: one that has an idle stream, or else,
   * by the estimates, the first to have one. Empty when no device is left.
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

  /** When there is something to decide even if nothing happens; {@link Ticket#NEVER} if nothing. */
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
   * Takes note of an event, and of the time.
   *
   * @return what is to be done about it, in this order
   * @throws IllegalArgumentException for a device, stream or band that does not exist, or an id
   *     that is taken
   * @throws IllegalStateException when a stream cannot have come from where it was to where it is
   *     said to be
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
      case Event.Tick() -> {} // the time was all there was to it
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
              "ticket %d is under way already; an id is for one ticket".formatted(ticket.id()));
        }
      }
      case Event.StreamReady(int device, int stream) -> {
        var slot = slot(device, stream);
        if (slot.idle || slot.run != null) {
          throw new IllegalStateException(
              "stream %d of device %d is %s and cannot become ready"
                  .formatted(stream, device, slot.idle ? "idle already" : "at work"));
        }
      }
      case Event.Finished(int device, int stream, long took) -> {
        atLeast(0, took, "what a launch took");
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
          "stream %d of device %d has no launch that could end".formatted(stream, device));
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
          "there is no %s %d; the last is %d".formatted(what, given, end - 1));
    }
  }

  /** What the time alone brings about. */
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
    long delay = untilTurn(entry);
    if (delay + entry.cost > ticket.deadline() - now) {
      estimates.doubt(ticket);
      refuse(ticket, Reason.DEADLINE_EXCEEDED, 0);
      return;
    }
    var idle = devices.idle(ticket.device());
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

  /** How long a newcomer waits for a stream of its device, in nanoseconds. */
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

  /** Gives an idle stream what is next for it, if anything is. */
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
    return launch.stream().mapToLong(entry -> entry.cost).sum();
  }

  /** Ends what a stream was at; that of a lost device has ended already, with the device. */
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

  /** Waits for nothing, not even for what runs: it may never end. */
  private void end() {
    fail(List.copyOf(open.values()), Reason.DRAINING, 1);
    phase = Phase.DRAINED;
    decisions.add(new Decision.Drained());
  }

  private void fail(List<Entry> entries, Reason reason, long retryAfter) {
    entries.forEach(e -> close(e, new Decision.Failed(e.ticket, reason, retryAfter)));
  }

  /** Answers a ticket's client, if it has no answer yet. */
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
