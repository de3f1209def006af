package dev.athanor.service.stream;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.device.RunSettings;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.Decision;
import dev.athanor.service.schedule.Decision.Reason;
import dev.athanor.service.schedule.Event;
import dev.athanor.service.schedule.Scheduler;
import dev.athanor.service.schedule.Scheduler.Phase;
import dev.athanor.service.schedule.SharedLimit;
import dev.athanor.service.schedule.TenantShares;
import dev.athanor.service.schedule.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Executes the decisions of the {@link Scheduler} on the streams of all devices. Each stream has a
 * platform thread of its own, since driver calls block and the emulator computes; either would pin
 * the carriers of the virtual threads that serve requests.
 */
public final class StreamPool implements AutoCloseable {

  private static final long DRAIN_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final Duration HANG_CHECK_INTERVAL = Duration.ofSeconds(5);

  private final List<Device> devices;
  private final DeviceHealth health;
  private final Scheduler scheduler;
  private final ContentLocks locks;
  private final long epoch = System.nanoTime();

  private final ReentrantLock lock = new ReentrantLock();
  private final Map<Long, PendingJob> pendingJobs = new HashMap<>();
  private long lastId;

  private final CompletableFuture<Boolean> drained = new CompletableFuture<>();
  private final List<List<StreamWorker>> workers = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();

  /**
   * Opens streams on all devices, which have the same numbers in {@code health}. They are ready
   * when the constructor returns.
   */
  public StreamPool(
      List<Device> devices, DeviceHealth health, RunSettings settings, TenantShares shares) {
    this.devices = List.copyOf(devices);
    this.health = health;
    locks = new ContentLocks(health, new SharedLimit(settings.queue(), shares));
    scheduler = new Scheduler(settings.policy(shares), devices.size(), settings.streams());
    for (int i = 0; i < devices.size(); i++) {
      int device = i;
      workers.add(IntStream.range(0, settings.streams()).mapToObj(n -> worker(device, n)).toList());
    }
    for (var worker : workers.stream().flatMap(List::stream).toList()) {
      var stream = devices.get(worker.device).openStream();
      var _ = reportReady(worker);
      threads.add(
          Thread.ofPlatform()
              .daemon()
              .name("stream-%d-%d".formatted(worker.device, worker.number))
              .start(() -> workLoop(stream, worker)));
    }
    threads.add(
        Thread.ofPlatform()
            .daemon()
            .name("stream-watch")
            .start(() -> watchUntilClosed(settings.launchTimeout())));
    threads.add(
        ClientWatch.start(this::pendingJobs, pending -> dispatch(new Event.Cancel(pending.id))));
  }

  private StreamWorker worker(int device, int number) {
    return new StreamWorker(device, number, health.watch(device, "stream " + number));
  }

  /**
   * Runs a job and waits for its completion.
   *
   * @throws Failure.Busy with {@code queue-full}, {@code draining} or {@code device-lost}
   * @throws Failure.DeadlineExceeded if the deadline passes or, by the estimate, cannot be met; a
   *     running job finishes, but its result is dropped
   * @throws Failure if the device reports a fault
   */
  public void run(Job job, RequestContext context) {
    start(job, context).await();
  }

  /**
   * Submits a job without waiting. The caller must call {@code await} or {@code cancel} on the
   * returned handle.
   *
   * @throws Failure if the job is rejected, as for {@link #run}
   */
  public Submitted start(Job job, RequestContext context) {
    var device = devices.get(job.device());
    if (job.isTransfer() && device.isSynchronous()) {
      return transfer(job, context, device);
    }
    PendingJob pending;
    lock.lock();
    try {
      pending = new PendingJob(++lastId, job, context.deadline(), health);
      pendingJobs.put(pending.id, pending);
    } finally {
      lock.unlock();
    }
    try {
      dispatch(new Event.Submit(pending.ticket(context, epoch)));
    } catch (RuntimeException | Error e) {
      forget(pending);
      pending.close();
      throw e;
    }
    if (pending.answer.isCompletedExceptionally()) {
      pending.join(); // throws the failure of a rejected job
    }
    return new Submitted(pending, context);
  }

  /**
   * Runs a transfer on this thread. A synchronous device would copy on the thread of a stream, so
   * that the data would have to move from the cache of one processor to that of another.
   */
  private Submitted transfer(Job job, RequestContext context, Device device) {
    var pending = new PendingJob(0, job, context.deadline(), health);
    Stream stream;
    try {
      context.deadline().check();
      admit(job);
      stream = device.openStream();
    } catch (RuntimeException e) {
      pending.close();
      throw e;
    }
    try (stream) {
      pending.run(stream);
      pending.inTime = true;
      pending.end(stream);
    }
    return new Submitted(pending, context);
  }

  private void admit(Job job) {
    if (health.isLost(job.device())) {
      throw Failure.Busy.deviceLost();
    }
    var phase = ask(Scheduler::phase);
    if (phase == Phase.DRAINED || (phase == Phase.REFUSING && !job.isContinuation())) {
      throw Failure.Busy.draining();
    }
  }

  /** The handle of a submitted job. */
  public final class Submitted {
    private final PendingJob pending;
    private final RequestContext context;

    private Submitted(PendingJob pending, RequestContext context) {
      this.pending = pending;
      this.context = context;
    }

    /**
     * Waits for the job's completion.
     *
     * @throws Failure as {@link StreamPool#run} does
     */
    public void await() {
      ProcessorShares.release();
      pending.client.enter(context.clientHasGone());
      try {
        awaitAnswer();
      } finally {
        pending.client.leave();
      }
    }

    private void awaitAnswer() {
      while (true) {
        try {
          if (context.deadline().isSet() && !pending.mustEnd) {
            long wait = Math.max(context.deadline().remainingNanos() + 1, 1);
            pending.answer.get(wait, TimeUnit.NANOSECONDS);
          } else {
            pending.answer.get();
          }
          return;
        } catch (ExecutionException e) {
          throw PendingJob.failure(e);
        } catch (TimeoutException e) {
          dispatch(new Event.Tick());
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          dispatch(new Event.Cancel(pending.id));
          pending.join();
          return;
        }
      }
    }

    /** Cancels the job unless it has completed, and returns whether it completed. */
    public boolean cancel() {
      ProcessorShares.release();
      dispatch(new Event.Cancel(pending.id));
      return pending.answer.handle((_, failure) -> failure == null).join();
    }
  }

  private void forget(PendingJob pending) {
    lock.lock();
    try {
      pendingJobs.remove(pending.id);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the locks that a job acquires before it is submitted. */
  public ContentLocks locks() {
    return locks;
  }

  // -- scheduling

  /** Passes an event to the scheduler and executes its decisions. */
  private void dispatch(Event event) {
    var after = new ArrayList<Runnable>();
    lock.lock();
    try {
      for (var decision : scheduler.on(System.nanoTime() - epoch, event)) {
        carryOut(decision, after);
      }
      health.enter(scheduler.phase());
    } finally {
      lock.unlock();
    }
    after.forEach(Runnable::run); // may wait for the device; throws nothing
  }

  private void carryOut(Decision decision, List<Runnable> after) {
    switch (decision) {
      case Decision.Admitted _ -> {}
      case Decision.Started(int device, int stream, var tickets) -> {
        var launch = new ArrayList<PendingJob>(tickets.size());
        for (var ticket : tickets) {
          var pending = pending(ticket);
          pending.started = true;
          launch.add(pending);
        }
        workers.get(device).get(stream).started.add(launch);
      }
      case Decision.Done(var ticket) -> {
        pending(ticket).inTime = true;
        pendingJobs.remove(ticket.id());
      }
      case Decision.Refused(var ticket, var reason, long retryAfter) ->
          answer(ticket, reason, retryAfter, after);
      case Decision.Failed(var ticket, var reason, long retryAfter) ->
          answer(ticket, reason, retryAfter, after);
      case Decision.Expired(var ticket) ->
          abandon(pending(ticket), new Failure.DeadlineExceeded(pending(ticket).deadline), after);
      case Decision.Dropped(var ticket) -> abandon(pending(ticket), Failure.clientGone(), after);
      case Decision.Drained() -> drained.complete(true);
    }
  }

  private PendingJob pending(Ticket ticket) {
    return Objects.requireNonNull(pendingJobs.get(ticket.id()), "the ticket was submitted");
  }

  private void answer(Ticket ticket, Reason reason, long retryAfter, List<Runnable> after) {
    var pending = pending(ticket);
    var retry = Duration.ofSeconds(Math.max(retryAfter, 1));
    answer(
        pending,
        switch (reason) {
          case QUEUE_FULL ->
              new Failure.Busy(
                  Code.QUEUE_FULL,
                  "Queue full: %d jobs are waiting, %d of them for this tenant (see athanor.run.queue, queue-time, queue-bytes and athanor.quota.share). Retry after %d s."
                      .formatted(
                          scheduler.load().tickets(),
                          scheduler.waiting(ticket.tenant()),
                          retry.toSeconds()),
                  retry);
          case DRAINING -> Failure.Busy.draining();
          case DEADLINE_EXCEEDED -> new Failure.DeadlineExceeded(pending.deadline);
          case DEVICE_LOST -> Failure.Busy.deviceLost();
          case FAULT -> pending.fault();
        },
        after);
  }

  /** Fails a job. If it is running, its stream closes it afterwards. */
  private void answer(PendingJob pending, RuntimeException failure, List<Runnable> after) {
    pendingJobs.remove(pending.id);
    if (!pending.started) {
      after.add(pending::close);
    }
    after.add(() -> pending.answer.completeExceptionally(failure));
  }

  /** Fails a job whose client has stopped waiting, unless it runs and cannot be undone. */
  private void abandon(PendingJob pending, RuntimeException failure, List<Runnable> after) {
    if (pending.started && !pending.job.abandon()) {
      pending.mustEnd = true;
      pendingJobs.remove(pending.id);
    } else {
      answer(pending, failure, after);
    }
  }

  // -- streams

  /**
   * Runs the jobs of one stream until the pool closes or the device is lost. If the thread dies
   * unexpectedly, the device is given up, since the scheduler would otherwise wait for the stream
   * forever.
   */
  private void workLoop(Stream stream, StreamWorker worker) {
    try (stream) {
      do {
        work(stream, worker, worker.started.take());
      } while (reportReady(worker));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the pool was closed
    } catch (RuntimeException | Error e) {
      giveUp(worker, "stream %d failed: %s".formatted(worker.number, e));
      throw e;
    }
  }

  /** Reports that a stream is ready, or that its device is lost, and returns which. */
  private boolean reportReady(StreamWorker worker) {
    boolean lost = health.isLost(worker.device); // another stream may have detected the loss
    dispatch(
        lost
            ? new Event.DeviceLost(worker.device)
            : new Event.StreamReady(worker.device, worker.number));
    return !lost;
  }

  private void work(Stream stream, StreamWorker worker, List<PendingJob> launch) {
    worker.launch = launch;
    worker.activity.begin();
    try {
      run(stream, worker, launch);
    } finally {
      worker.activity.end();
    }
    worker.launch = List.of();
  }

  /** Runs a launch. Clients receive the outcome only after all resources are released. */
  private void run(Stream stream, StreamWorker worker, List<PendingJob> launch) {
    int device = worker.device;
    long began = System.nanoTime();
    if (launch.size() == 1 || !PendingJob.runBatch(stream, launch)) {
      launch.forEach(pending -> pending.run(stream));
    }
    long took = System.nanoTime() - began;
    if (health.isLost(device)) {
      launch.forEach(pending -> pending.close(Failure.Busy.deviceLost()));
      dispatch(new Event.DeviceLost(device));
      return;
    }
    if (launch.stream().allMatch(PendingJob::hasFailed)) {
      launch.forEach(pending -> pending.close(pending.fault()));
      dispatch(new Event.Faulted(device, worker.number));
      return;
    }
    dispatch(new Event.Finished(device, worker.number, took));
    launch.forEach(pending -> pending.end(stream));
  }

  private List<PendingJob> pendingJobs() {
    lock.lock();
    try {
      return List.copyOf(pendingJobs.values());
    } finally {
      lock.unlock();
    }
  }

  private void watchUntilClosed(Duration limit) {
    try {
      while (true) {
        Thread.sleep(HANG_CHECK_INTERVAL);
        watch(limit);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the pool was closed
    }
  }

  /**
   * Marks a device as lost if a launch, or zeroing of memory, has run for longer than {@code
   * limit}. A hanging kernel ends only with the process. Never blocks on a device.
   */
  public void watch(Duration limit) {
    for (var activity : health.overdue(limit)) {
      var hangs = "%s has been running for more than %s".formatted(activity.name(), limit);
      health.explain(activity.device(), new DeviceException.Lost(hangs));
    }
    for (var worker : workers.stream().flatMap(List::stream).toList()) {
      if (health.isLost(worker.device) && worker.activity.isOverdue(limit)) {
        giveUp(worker, "stream %d hangs".formatted(worker.number));
      }
    }
  }

  /** Marks the device as lost and fails the jobs of a stream that no longer responds. */
  private void giveUp(StreamWorker worker, String reason) {
    health.explain(worker.device, new DeviceException.Lost(reason));
    try {
      dispatch(new Event.DeviceLost(worker.device));
    } finally {
      worker.launch.forEach(
          pending -> pending.answer.completeExceptionally(Failure.Busy.deviceLost()));
    }
  }

  // -- state

  private <T> T ask(Function<Scheduler, T> question) {
    lock.lock();
    try {
      return question.apply(scheduler);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of waiting jobs. */
  public int waiting() {
    return ask(Scheduler::load).tickets();
  }

  /** Returns the number of jobs that wait for a device. */
  public int waiting(int device) {
    return ask(s -> s.waiting(device));
  }

  /** Returns the number of streams per device. */
  public int perDevice() {
    return workers.getFirst().size();
  }

  /** Returns the number of busy streams. */
  public int busy() {
    return ask(Scheduler::load).busy();
  }

  /** Returns the number of busy streams of a device. */
  public int busy(int device) {
    return ask(s -> s.busy(device));
  }

  /** Returns the device that would finish a new job first; 0 if all devices are lost. */
  public int quietest() {
    return ask(s -> s.quietest(System.nanoTime() - epoch)).orElse(0);
  }

  // -- shutdown

  /**
   * Rejects new work and waits until accepted work has finished or failed, as the policy defines.
   */
  public void drain() {
    dispatch(new Event.Drain());
    while (!drained.isDone()) {
      try {
        drained.get(DRAIN_POLL_NANOS, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        dispatch(new Event.Tick());
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
   * Stops all threads.
   *
   * @param timeout how long to wait for running launches; a {@link DeviceRuntime} with a launch
   *     that is still running does not close its device
   */
  public void close(Duration timeout) {
    threads.forEach(Thread::interrupt);
    long until = System.nanoTime() + timeout.toNanos();
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
