package dev.athanor.service.stream;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.device.Activity;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.RunSettings;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.Decision;
import dev.athanor.service.schedule.Decision.Reason;
import dev.athanor.service.schedule.Event;
import dev.athanor.service.schedule.Scheduler;
import dev.athanor.service.schedule.Ticket;
import io.opentelemetry.context.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out what the {@link Scheduler} decides: some streams of each device, all with threads of
 * their own, and clients that wait for their answers. The streams' threads are platform threads,
 * since calls into a driver block and the emulator computes: neither shall hold up the virtual
 * threads that serve requests.
 */
public final class StreamPool implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(StreamPool.class);

  /** How often a client that waits is looked after. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final Duration LOOK_FOR_HANGS = Duration.ofSeconds(5);

  /** A job and whoever waits for it. */
  private static final class Turn {
    final long id;
    final Job job;
    final Deadline deadline;
    final CompletableFuture<Boolean> answer = new CompletableFuture<>();
    final Context trace = Context.current();

    // guarded by the pool's lock
    boolean started;
    boolean inTime;
    @Nullable RuntimeException fault;

    Turn(long id, Job job, Deadline deadline) {
      this.id = id;
      this.job = job;
      this.deadline = deadline;
    }
  }

  /** A stream, and what it is given. */
  private static final class Server {
    final int device;
    final int number;

    /** It is given work only when it is idle. */
    final BlockingQueue<List<Turn>> started = new ArrayBlockingQueue<>(1);

    final Activity activity;

    /** What it is at. */
    volatile List<Turn> launch = List.of();

    Server(int device, int number, Activity activity) {
      this.device = device;
      this.number = number;
      this.activity = activity;
    }
  }

  private final DeviceHealth health;
  private final Scheduler scheduler;
  private final ContentLocks locks;
  private final long origin = System.nanoTime();

  private final ReentrantLock lock = new ReentrantLock();
  private final Map<Long, Turn> turns = new HashMap<>();
  private long lastId;

  private final CompletableFuture<Boolean> drained = new CompletableFuture<>();
  private final List<List<Server>> servers = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();

  /** Streams of devices, which have the same numbers in {@code health}. */
  public StreamPool(List<Device> devices, DeviceHealth health, RunSettings settings) {
    this.health = health;
    locks = new ContentLocks(health, settings.queue());
    scheduler = new Scheduler(settings.policy(), devices.size(), settings.streams());
    for (int i = 0; i < devices.size(); i++) {
      int device = i;
      servers.add(IntStream.range(0, settings.streams()).mapToObj(n -> server(device, n)).toList());
    }
    for (var server : servers.stream().flatMap(List::stream).toList()) {
      var stream = devices.get(server.device).openStream();
      threads.add(
          Thread.ofPlatform()
              .daemon()
              .name("stream-%d-%d".formatted(server.device, server.number))
              .start(() -> serve(stream, server)));
    }
    threads.add(
        Thread.ofPlatform()
            .daemon()
            .name("stream-watch")
            .start(() -> watchUntilClosed(settings.launchTimeout())));
  }

  private Server server(int device, int number) {
    return new Server(device, number, health.watch(device, "stream " + number));
  }

  /**
   * Runs a job and waits for it.
   *
   * @throws Failure.Busy with {@code queue-full}, {@code draining} or {@code device-lost}
   * @throws Failure.TooLate when the deadline passes first, or would by the estimate; what is
   *     running is then left to finish, and its result is dropped
   * @throws Failure what a fault of the device means
   */
  public void run(Job job, RequestContext terms) {
    start(job, terms).await();
  }

  /**
   * Submits a job and waits for nothing. One of the methods of what this returns must be called.
   *
   * @throws Failure what {@link #run} throws before a job is submitted
   */
  public Submitted start(Job job, RequestContext terms) {
    Turn turn;
    lock.lock();
    try {
      turn = new Turn(++lastId, job, terms.deadline());
      turns.put(turn.id, turn);
    } finally {
      lock.unlock();
    }
    try {
      tell(new Event.Submit(ticket(turn.id, job, terms)));
    } catch (RuntimeException | Error e) {
      forget(turn);
      close(turn);
      throw e;
    }
    return new Submitted(turn, terms);
  }

  /** A job whose answer is still to come. */
  public final class Submitted {
    private final Turn turn;
    private final RequestContext terms;

    private Submitted(Turn turn, RequestContext terms) {
      this.turn = turn;
      this.terms = terms;
    }

    /**
     * Waits for the job.
     *
     * @throws Failure as {@link StreamPool#run} does
     */
    public void await() {
      while (true) {
        try {
          long wait = Math.clamp(terms.deadline().remainingNanos() + 1, 1, LOOK_NANOS);
          turn.answer.get(wait, TimeUnit.NANOSECONDS);
          return;
        } catch (ExecutionException e) {
          throw answered(e);
        } catch (TimeoutException e) {
          boolean gone =
              terms.deadline().remainingNanos() >= 0 && terms.clientHasGone().getAsBoolean();
          tell(gone ? new Event.Cancel(turn.id) : new Event.Tick());
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          tell(new Event.Cancel(turn.id));
          join(turn);
          return;
        }
      }
    }

    /** Cancels the job, unless it is done, and tells whether it is. */
    public boolean cancel() {
      tell(new Event.Cancel(turn.id));
      return turn.answer.handle((_, failure) -> failure == null).join();
    }
  }

  private void forget(Turn turn) {
    lock.lock();
    try {
      turns.remove(turn.id);
    } finally {
      lock.unlock();
    }
  }

  /** Locks the contents of tensors for a job that will be submitted. */
  public ContentLocks locks() {
    return locks;
  }

  private static void join(Turn turn) {
    try {
      turn.answer.join();
    } catch (CompletionException e) {
      throw answered(e);
    }
  }

  private static RuntimeException answered(Exception e) {
    return e.getCause() instanceof RuntimeException failure
        ? failure
        : new IllegalStateException(e);
  }

  private Ticket ticket(long id, Job job, RequestContext terms) {
    var deadline = terms.deadline();
    return new Ticket(
        id,
        terms.tenant().name(),
        terms.priority(),
        deadline.isSet() ? Math.max(deadline.at() - origin, 0) : Ticket.NEVER,
        job.kind(),
        Math.max(job.cost(), 1),
        job.hostBytes(),
        job.device(),
        job.goesOn(),
        job.batch().orElse(null));
  }

  /** What a fault means; a lost device is remembered. The log has it in the trace of its call. */
  private RuntimeException failure(Turn turn, Throwable fault) {
    try (var _ = turn.trace.makeCurrent()) {
      return switch (fault) {
        case DeviceException e -> health.explain(turn.job.device(), e);
        case RuntimeException e -> e;
        default -> new IllegalStateException(fault);
      };
    }
  }

  // -- decisions

  /** Tells the scheduler what happened and does what it decides. */
  private void tell(Event event) {
    var after = new ArrayList<Runnable>();
    lock.lock();
    try {
      for (var decision : scheduler.on(System.nanoTime() - origin, event)) {
        carryOut(decision, after);
      }
      health.enter(scheduler.phase());
    } finally {
      lock.unlock();
    }
    after.forEach(Runnable::run); // which may wait for the device, and throws nothing
  }

  private void carryOut(Decision decision, List<Runnable> after) {
    switch (decision) {
      case Decision.Admitted _ -> {}
      case Decision.Started(int device, int stream, var tickets) -> {
        var launch = tickets.stream().map(this::turn).toList();
        launch.forEach(turn -> turn.started = true);
        servers.get(device).get(stream).started.add(launch);
      }
      case Decision.Done(var ticket) -> {
        turn(ticket).inTime = true;
        turns.remove(ticket.id());
      }
      case Decision.Refused(var ticket, var reason, long retryAfter) ->
          answer(ticket, reason, retryAfter, after);
      case Decision.Failed(var ticket, var reason, long retryAfter) ->
          answer(ticket, reason, retryAfter, after);
      case Decision.Expired(var ticket) -> answer(ticket, Reason.DEADLINE_EXCEEDED, 0, after);
      case Decision.Dropped(var ticket) -> answer(turn(ticket), Failure.clientGone(), after);
      case Decision.Drained() -> drained.complete(true);
    }
  }

  private Turn turn(Ticket ticket) {
    return Objects.requireNonNull(turns.get(ticket.id()), "a ticket that was submitted");
  }

  private void answer(Ticket ticket, Reason reason, long retryAfter, List<Runnable> after) {
    var turn = turn(ticket);
    var retry = Duration.ofSeconds(Math.max(retryAfter, 1));
    answer(
        turn,
        switch (reason) {
          case QUEUE_FULL ->
              new Failure.Busy(
                  Code.QUEUE_FULL,
                  "%d jobs wait for the device already, as much work as may; try again"
                      .formatted(scheduler.load().tickets()),
                  retry);
          case DRAINING -> Failure.Busy.draining();
          case DEADLINE_EXCEEDED -> new Failure.TooLate(turn.deadline);
          case DEVICE_LOST -> Failure.Busy.deviceLost();
          case FAULT -> Objects.requireNonNull(turn.fault, "a stream says why it fails");
        },
        after);
  }

  /** What was started is given back when it ends, by the stream that is at it. */
  private void answer(Turn turn, RuntimeException failure, List<Runnable> after) {
    turns.remove(turn.id);
    if (!turn.started) {
      after.add(() -> close(turn));
    }
    after.add(() -> turn.answer.completeExceptionally(failure));
  }

  // -- streams

  /**
   * A thread that ended early would leave its stream at work for ever, as the scheduler sees it.
   */
  private void serve(Stream stream, Server server) {
    int device = server.device;
    try (stream) {
      while (!health.isLost(device)) {
        tell(new Event.StreamReady(device, server.number));
        work(stream, server, server.started.take());
      }
      tell(new Event.DeviceLost(device)); // which may have been found out elsewhere
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the pool was closed
    } catch (RuntimeException | Error e) {
      giveUp(server, "stream %d failed: %s".formatted(server.number, e));
      throw e;
    }
  }

  private void work(Stream stream, Server server, List<Turn> launch) {
    server.launch = launch;
    server.activity.begin();
    try {
      run(stream, server, launch);
    } finally {
      server.activity.end();
    }
    server.launch = List.of();
  }

  /** The clients' threads see the outcome last, when all is given back. */
  private void run(Stream stream, Server server, List<Turn> launch) {
    int device = server.device;
    long began = System.nanoTime();
    if (launch.size() == 1 || !together(stream, launch)) {
      launch.forEach(turn -> alone(stream, turn));
    }
    long took = System.nanoTime() - began;
    var failed = launch.stream().filter(turn -> turn.fault != null).toList();
    if (health.isLost(device)) {
      launch.forEach(this::close);
      tell(new Event.DeviceLost(device));
      return;
    }
    if (failed.size() == launch.size()) {
      launch.forEach(this::close);
      tell(new Event.Faulted(device, server.number));
      return;
    }
    tell(new Event.Finished(device, server.number, took));
    launch.forEach(turn -> end(stream, turn));
  }

  /** Closes a job; a fault in that concerns nobody else, and its client has another answer. */
  private void close(Turn turn) {
    try {
      turn.job.close();
    } catch (RuntimeException | Error e) {
      failure(turn, e instanceof RuntimeException ? e : new IllegalStateException(e));
    }
  }

  /** What fails in company may be right alone. */
  private boolean together(Stream stream, List<Turn> launch) {
    try {
      return launch
          .getFirst()
          .job
          .runTogether(stream, launch.stream().map(turn -> turn.job).toList());
    } catch (RuntimeException | Error e) {
      LOG.debug("{} jobs failed together", launch.size(), e);
      quiesce(stream);
      launch.forEach(turn -> turn.job.leave());
      return false;
    }
  }

  private void alone(Stream stream, Turn turn) {
    try {
      turn.job.run(stream);
    } catch (RuntimeException | Error e) {
      quiesce(stream);
      fail(turn, failure(turn, e));
    }
  }

  private void fail(Turn turn, RuntimeException fault) {
    lock.lock();
    try {
      turn.fault = fault;
    } finally {
      lock.unlock();
    }
  }

  private void end(Stream stream, Turn turn) {
    var fault = turn.fault;
    try {
      if (turn.inTime && fault == null) {
        turn.job.commit(stream);
      }
    } catch (RuntimeException | Error e) {
      quiesce(stream);
      fault = failure(turn, e);
    }
    close(turn);
    if (fault != null) {
      turn.answer.completeExceptionally(fault);
    } else if (turn.inTime) {
      turn.answer.complete(true);
    }
  }

  /** After a fault: nothing may still run when memory is given back. */
  private static void quiesce(Stream stream) {
    try {
      stream.synchronize();
    } catch (RuntimeException e) {
      LOG.debug("a second fault of the stream", e);
    }
  }

  private void watchUntilClosed(Duration limit) {
    try {
      while (true) {
        Thread.sleep(LOOK_FOR_HANGS);
        watch(limit);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the pool was closed
    }
  }

  /**
   * Gives a device up that has been at one launch, or at zeroing memory, for longer than {@code
   * limit}: only the end of the process ends a kernel that does not end by itself. Waits for no
   * device itself.
   */
  public void watch(Duration limit) {
    for (var activity : health.overdue(limit)) {
      var hangs = "%s has not ended for more than %s".formatted(activity.name(), limit);
      health.explain(activity.device(), new DeviceException.Lost(hangs));
    }
    for (var server : servers.stream().flatMap(List::stream).toList()) {
      if (health.isLost(server.device) && server.activity.isOverdue(limit)) {
        giveUp(server, "stream %d hangs".formatted(server.number));
      }
    }
  }

  /** Gives a device up, and answers the clients of a stream that will not. */
  private void giveUp(Server server, String reason) {
    health.explain(server.device, new DeviceException.Lost(reason));
    try {
      tell(new Event.DeviceLost(server.device));
    } finally {
      server.launch.forEach(turn -> turn.answer.completeExceptionally(Failure.Busy.deviceLost()));
    }
  }

  // -- what is there

  private <T> T ask(Function<Scheduler, T> question) {
    lock.lock();
    try {
      return question.apply(scheduler);
    } finally {
      lock.unlock();
    }
  }

  /** How many jobs wait. */
  public int waiting() {
    return ask(Scheduler::load).tickets();
  }

  /** How many jobs wait for a device. */
  public int waiting(int device) {
    return ask(s -> s.waiting(device));
  }

  /** How many streams each device has. */
  public int perDevice() {
    return servers.getFirst().size();
  }

  /** How many streams are at work. */
  public int busy() {
    return ask(Scheduler::load).busy();
  }

  /** How many streams of a device are at work. */
  public int busy(int device) {
    return ask(s -> s.busy(device));
  }

  /** The device that would be done first with something new; the first where none is left. */
  public int quietest() {
    return ask(s -> s.quietest(System.nanoTime() - origin)).orElse(0);
  }

  // -- the end

  /**
   * Lets what is there finish, as the policy says, and takes nothing more in. Asked for a second
   * time meanwhile it waits for nothing.
   */
  public void drain() {
    tell(new Event.Drain());
    while (!drained.isDone()) {
      try {
        drained.get(LOOK_NANOS, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        tell(new Event.Tick());
      } catch (ExecutionException e) {
        throw new IllegalStateException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  @Override
  public void close() {
    close(Duration.ofSeconds(10));
  }

  /**
   * Ends all threads.
   *
   * @param patience how long to wait for launches that are under way; those of a {@link
   *     DeviceRuntime} that have not ended by then keep it from closing its device
   */
  public void close(Duration patience) {
    threads.forEach(Thread::interrupt);
    long until = System.nanoTime() + patience.toNanos();
    for (var thread : threads) {
      try {
        thread.join(Duration.ofNanos(Math.max(until - System.nanoTime(), 1)));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
