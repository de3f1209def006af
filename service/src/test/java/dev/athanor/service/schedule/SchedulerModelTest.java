package dev.athanor.service.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.schedule.Decision.Started;
import dev.athanor.service.schedule.Scheduler.Phase;
import dev.athanor.testing.TestTier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Compares random histories with the {@link Model}, and simulates long periods to check fair shares
 * and starvation. A failure reports the seed; -Dathanor.seed=N repeats it.
 */
class SchedulerModelTest {

  private static final long SEED = TestTier.seed();

  /** About 10^5 events in total. */
  private static final int HISTORIES = 150;

  private static final int EVENTS = 400;

  private static final Duration UNLIMITED = Duration.ofDays(365);

  @BeforeAll
  static void printSeed() {
    System.out.println("athanor.seed=" + SEED);
  }

  // -- random histories

  @Test
  void randomHistories() {
    var kinds = new TreeMap<String, Integer>();
    for (int i = 0; i < HISTORIES; i++) {
      var past = new ArrayList<Object>();
      try {
        new Simulation(new Random(SEED + i), past, kinds).run();
      } catch (AssertionError | RuntimeException e) {
        int from = Math.max(0, past.size() - 40);
        throw new AssertionError(
            "-Dathanor.seed=%d, event %d of:%n%s%n%s"
                .formatted(
                    SEED + i,
                    past.size(),
                    past.subList(from, past.size()).stream()
                        .map(Object::toString)
                        .collect(Collectors.joining("\n")),
                    e.getMessage()),
            e);
      }
    }
    assertThat(kinds.values().stream().mapToInt(n -> n).sum()).isGreaterThan(50_000);
    assertThat(kinds.keySet())
        .as("all kinds of decisions and reasons occurred: %s", kinds)
        .contains("Admitted", "Started", "Done", "Expired", "Dropped", "Drained", "batch")
        .contains("Refused QUEUE_FULL", "Refused DRAINING", "Refused DEADLINE_EXCEEDED")
        .contains("Refused DEVICE_LOST", "Failed DEVICE_LOST", "Failed DRAINING", "Failed FAULT");
  }

  private record Moment(long at, Event event, List<Decision> decisions) {}

  /** A random simulation of a service from start to end. */
  private static final class Simulation {
    private enum StreamState {
      BUSY,
      IDLE,
      BETWEEN
    }

    private final Random random;
    private final List<Object> past;
    private final Map<String, Integer> kinds;
    private final StreamState[][] streams;
    private final Policy policy;
    private final Model model;
    private long now;
    private long lastId;

    Simulation(Random random, List<Object> past, Map<String, Integer> kinds) {
      this.random = random;
      this.past = past;
      this.kinds = kinds;
      streams = new StreamState[between(1, 3)][between(1, 3)];
      for (var device : streams) {
        Arrays.fill(device, StreamState.BETWEEN);
      }
      policy =
          new Policy(
              between(1, 4),
              oneOf(nanos(between(100, 2000)), UNLIMITED),
              oneOf(nanos(0), nanos(200), UNLIMITED),
              new Policy.Queue(between(1, 30), nanos(between(100, 3000)), between(0, 200)),
              new Policy.Launch(between(1, 6), between(1, 12)),
              nanos(between(0, 500)),
              nanos(between(0, 1500)),
              new History.Shares(oneOf(0.3, 0.5, 1.0), Map.of("t1", oneOf(0.5, 1.0, 2.0, 3.0))));
      past.add(policy + " " + streams.length + "×" + streams[0].length);
      model = new Model(policy, streams.length, streams[0].length);
    }

    void run() {
      int drainAt = between(EVENTS / 2, EVENTS);
      for (int i = 0; i < drainAt; i++) {
        now += random.nextInt(20) == 0 ? between(0, 1000) : between(0, 20);
        send(event());
      }
      send(new Event.Drain());
      boolean impatient = random.nextInt(3) == 0;
      while (model.phase() != Phase.DRAINED) {
        now += between(0, 40);
        send(impatient && random.nextInt(10) == 0 ? new Event.Drain() : event());
      }
      for (int i = 0; i < 20; i++) {
        now += between(0, 200);
        send(event());
      }
      assertThat(model.isAllAnswered()).isTrue();
    }

    private Event event() {
      int kind = random.nextInt(100);
      int device = random.nextInt(streams.length);
      int stream = random.nextInt(streams[device].length);
      if (kind < 45) {
        return new Event.Submit(ticket());
      }
      if (kind < 90) {
        return switch (streams[device][stream]) {
          case BETWEEN -> new Event.StreamReady(device, stream);
          case IDLE -> new Event.Submit(ticket());
          case BUSY ->
              random.nextInt(20) == 0
                  ? new Event.Faulted(device, stream)
                  : new Event.Finished(device, stream, between(0, 200));
        };
      }
      if (kind < 95) {
        return new Event.Cancel(lastId - random.nextInt(30));
      }
      if (kind < 97 && model.wake() < now + 2000) {
        now = Math.max(now, model.wake());
      }
      return random.nextInt(200) == 0 ? new Event.DeviceLost(device) : new Event.Tick();
    }

    private Ticket ticket() {
      long cost = between(1, 120);
      return new Ticket(
          ++lastId,
          "t" + between(1, 3),
          between(0, policy.bands()),
          random.nextBoolean() ? Ticket.NEVER : now + between(0, 1500),
          lastId,
          cost,
          between(0, 40),
          random.nextInt(streams.length),
          random.nextInt(6) == 0,
          random.nextInt(3) == 0 ? null : new Ticket.Batch(between(1, 2), between(1, 6)));
    }

    private void send(Event event) {
      past.add(new Moment(now, event, List.of()));
      var decisions = model.on(now, event);
      past.set(past.size() - 1, new Moment(now, event, decisions));
      switch (event) {
        case Event.StreamReady(int device, int stream) ->
            streams[device][stream] = StreamState.IDLE;
        case Event.Finished(int device, int stream, _) ->
            streams[device][stream] = StreamState.BETWEEN;
        case Event.Faulted(int device, int stream) -> streams[device][stream] = StreamState.BETWEEN;
        case Event.DeviceLost(int device) -> Arrays.fill(streams[device], StreamState.BETWEEN);
        case Event.Submit _, Event.Cancel _, Event.Tick _, Event.Drain _ -> {}
      }
      for (var decision : decisions) {
        kinds.merge(kind(decision), 1, Integer::sum);
        if (decision instanceof Started(int device, int stream, var tickets)) {
          streams[device][stream] = StreamState.BUSY;
          kinds.merge(tickets.size() > 1 ? "batch" : "single", 1, Integer::sum);
        }
      }
    }

    private static String kind(Decision decision) {
      var name = decision.getClass().getSimpleName();
      return switch (decision) {
        case Decision.Refused(_, var reason, _) -> name + " " + reason;
        case Decision.Failed(_, var reason, _) -> name + " " + reason;
        default -> name;
      };
    }

    private int between(int min, int max) {
      return min + random.nextInt(max - min + 1);
    }

    @SafeVarargs
    private <T> T oneOf(T... choices) {
      return choices[random.nextInt(choices.length)];
    }
  }

  private static Duration nanos(long nanos) {
    return Duration.ofNanos(nanos);
  }

  // -- long simulations

  /**
   * While all tenants have waiting work, their service times differ by at most one cost and the
   * arrears, for any costs and batches.
   */
  @Test
  void sharesAreEqual() {
    for (int i = 0; i < 40; i++) {
      long seed = SEED + i;
      var random = new Random(seed);
      int tenants = 2 + random.nextInt(4);
      int maxCost = 1 + random.nextInt(1000);
      int arrears = random.nextInt(3) * random.nextInt(maxCost);
      var scheduler =
          new Scheduler(
              new Policy(
                  1,
                  UNLIMITED,
                  nanos(arrears),
                  new Policy.Queue(10_000, UNLIMITED, 0),
                  new Policy.Launch(5, 100),
                  nanos(0),
                  nanos(0),
                  TenantShares.UNLIMITED),
              1,
              4);
      long[] served = new long[tenants];
      long id = 0;
      for (int tenant = 0; tenant < tenants; tenant++) {
        for (int n = 0; n < 10; n++) {
          scheduler.on(0, new Event.Submit(ticketOf(tenant, id++, maxCost, random)));
        }
      }
      long bound = (long) maxCost + arrears;
      for (int round = 0; round < 2000; round++) {
        int stream = random.nextInt(4);
        for (var decision : scheduler.on(round, new Event.StreamReady(0, stream))) {
          if (decision instanceof Started(_, _, var tickets)) {
            for (var ticket : tickets) {
              int tenant = Integer.parseInt(ticket.tenant());
              served[tenant] += ticket.cost();
              scheduler.on(round, new Event.Submit(ticketOf(tenant, id++, maxCost, random)));
            }
          }
        }
        var totals = Arrays.stream(served).summaryStatistics();
        assertThat(totals.getMax() - totals.getMin())
            .as("-Dathanor.seed=%d, after %d: %s", seed, round, Arrays.toString(served))
            .isLessThanOrEqualTo(bound);
        scheduler.on(round, new Event.Finished(0, stream, 1));
      }
      assertThat(Arrays.stream(served).sum()).as("served").isGreaterThan(tenants * bound);
    }
  }

  /**
   * One tenant keeps as many tickets waiting as it may; another sends one at a time. Of equal cost,
   * each of the latter takes at most twice as long as alone.
   */
  @Test
  void floodOfOneTenantAtMostDoublesTheLatencyOfAnother() {
    long cost = 100;
    var scheduler =
        new Scheduler(
            new Policy(
                5,
                UNLIMITED,
                nanos(0),
                new Policy.Queue(64, UNLIMITED, 0),
                new Policy.Launch(1, 1),
                nanos(0),
                nanos(0),
                new History.Shares(0.5, Map.of())),
            1,
            1);
    scheduler.on(0, new Event.StreamReady(0, 0));
    long id = 0;
    long submitted = 0;
    int requests = 0;
    for (long now = 0; requests < 1000; now += cost) {
      for (boolean admitted = true; admitted; ) {
        var flood = new Ticket(id++, "flood", 1, Ticket.NEVER, "op", cost, 0, 0, false, null);
        admitted =
            scheduler.on(now, new Event.Submit(flood)).stream()
                .noneMatch(Decision.Refused.class::isInstance);
      }
      if (requests == 0) {
        var first = new Ticket(id++, "other", 5, Ticket.NEVER, "op", cost, 0, 0, false, null);
        scheduler.on(now, new Event.Submit(first));
        submitted = now;
        requests++;
      }
      for (var decision : scheduler.on(now + cost, new Event.Finished(0, 0, cost))) {
        if (decision instanceof Decision.Done(var ticket) && ticket.tenant().equals("other")) {
          assertThat(now + cost - submitted)
              .as("request %d", requests)
              .isLessThanOrEqualTo(2 * cost);
          var next = new Ticket(id++, "other", 5, Ticket.NEVER, "op", cost, 0, 0, false, null);
          submitted = now + cost;
          requests++;
          assertThat(scheduler.on(submitted, new Event.Submit(next)))
              .hasAtLeastOneElementOfType(Decision.Admitted.class);
        }
      }
      scheduler.on(now + cost, new Event.StreamReady(0, 0));
    }
  }

  /** Returns a ticket. Tenants with odd numbers have expensive tickets that can share launches. */
  private static Ticket ticketOf(int tenant, long id, int maxCost, Random random) {
    int cost = tenant % 2 == 1 ? maxCost : 1 + random.nextInt(maxCost);
    var batch = tenant % 2 == 1 ? new Ticket.Batch("k", 1) : null;
    return new Ticket(id, "" + tenant, 1, Ticket.NEVER, id, cost, 0, 0, false, batch);
  }

  /**
   * Simulates one stream at twice its capacity, mostly with urgent work of the first band. Admitted
   * tickets without a deadline in the last band must start within the time to age through all bands
   * and then to serve the queue of each tenant.
   */
  @Test
  void nothingStarves() {
    for (int i = 0; i < 10; i++) {
      long seed = SEED + i;
      var random = new Random(seed);
      int bands = 3;
      int tenants = 3;
      long age = 1000L + random.nextInt(5000);
      long queue = 2000;
      var scheduler =
          new Scheduler(
              new Policy(
                  bands,
                  nanos(age),
                  nanos(0),
                  new Policy.Queue(50, nanos(queue), 0),
                  new Policy.Launch(1, 1),
                  nanos(0),
                  nanos(0),
                  TenantShares.UNLIMITED),
              1,
              1);
      long bound = bands * age + tenants * (queue + 100);
      var since = new HashMap<Long, Long>();
      scheduler.on(0, new Event.StreamReady(0, 0));
      long busyUntil = Ticket.NEVER;
      long started = 0;
      long id = 0;
      for (long now = 0; now < 300_000; now += 1 + random.nextInt(50)) {
        var decisions = new ArrayList<Decision>();
        if (busyUntil <= now) {
          decisions.addAll(scheduler.on(busyUntil, new Event.Finished(0, 0, 1)));
          decisions.addAll(scheduler.on(busyUntil, new Event.StreamReady(0, 0)));
          busyUntil = Ticket.NEVER;
        }
        boolean background = random.nextInt(20) == 0;
        decisions.addAll(
            scheduler.on(
                now,
                new Event.Submit(
                    new Ticket(
                        id,
                        "" + random.nextInt(tenants),
                        background ? bands : 1,
                        background ? Ticket.NEVER : now + 300 + random.nextInt(4000),
                        id++,
                        1 + random.nextInt(100),
                        0,
                        0,
                        false,
                        null))));
        for (var decision : decisions) {
          switch (decision) {
            case Decision.Admitted(var ticket, _, _) when ticket.deadline() == Ticket.NEVER ->
                since.put(ticket.id(), now);
            case Started(_, _, var tickets) -> {
              busyUntil = now + tickets.getFirst().cost();
              started += since.remove(tickets.getFirst().id()) == null ? 0 : 1;
            }
            default -> {}
          }
        }
        long longestWait = now - since.values().stream().mapToLong(n -> n).min().orElse(now);
        assertThat(longestWait).as("-Dathanor.seed=%d at %d", seed, now).isLessThanOrEqualTo(bound);
      }
      assertThat(started).isGreaterThan(20);
    }
  }
}
