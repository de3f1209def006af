package dev.athanor.service.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.RunSettings;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.schedule.TenantShares;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.Timeouts;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

/** Tests a pool with one stream of a fake device. */
class StreamPoolTest {

  private final FakeDevice device = new FakeDevice();
  private DeviceHealth health = new DeviceHealth(List.of("fake:0"));
  private final List<String> log = Collections.synchronizedList(new ArrayList<>());
  private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
  private StreamPool pool = pool(Duration.ZERO);

  private StreamPool pool(Duration grace) {
    return new StreamPool(
        List.of(device),
        health,
        new RunSettings(
            1,
            4,
            Duration.ofHours(1),
            DataSize.ofKilobytes(1),
            DataSize.ofMegabytes(1),
            DataSize.ofMegabytes(1),
            true,
            false,
            Duration.ZERO,
            1,
            0,
            grace,
            Duration.ofHours(1),
            Duration.ZERO,
            Duration.ofHours(1),
            Duration.ZERO),
        TenantShares.UNLIMITED);
  }

  @AfterEach
  void close() {
    clients.close();
    pool.close();
  }

  /** A job that waits at a gate and logs its calls. */
  private final class GatedJob implements Job {
    final String name;
    final CountDownLatch begun = new CountDownLatch(1);
    final CountDownLatch gate = new CountDownLatch(1);
    final CountDownLatch commitGate = new CountDownLatch(1);
    @Nullable RuntimeException fault;
    boolean isTransfer;
    boolean isContinuation;
    @Nullable Thread ranOn;
    boolean failsToClose;
    boolean hangsInCommit;
    Object kind;
    long hostBytes;

    GatedJob(String name) {
      this.name = name;
      kind = name;
    }

    @Override
    public int device() {
      return 0;
    }

    @Override
    public Object kind() {
      return kind;
    }

    @Override
    public long cost() {
      return 1000;
    }

    @Override
    public long hostBytes() {
      return hostBytes;
    }

    @Override
    public boolean isTransfer() {
      return isTransfer;
    }

    @Override
    public boolean isContinuation() {
      return isContinuation;
    }

    @Override
    public void run(Stream stream) {
      ranOn = Thread.currentThread();
      begun.countDown();
      try {
        gate.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      if (fault != null) {
        throw fault;
      }
      log.add("run " + name);
    }

    @Override
    public void commit(Stream stream) {
      log.add("commit " + name);
      if (hangsInCommit) {
        try {
          commitGate.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
    }

    @Override
    public void close() {
      log.add("close " + name);
      if (failsToClose) {
        throw new IllegalStateException("cannot close " + name);
      }
    }
  }

  private static RequestContext context(Deadline deadline, AtomicBoolean gone) {
    return new RequestContext(Tenant.LOCAL, Ticket.MIDDLE, deadline, gone::get);
  }

  private CompletableFuture<String> start(GatedJob job, RequestContext context) {
    return CompletableFuture.supplyAsync(
        () -> {
          pool.run(job, context);
          return job.name;
        },
        clients);
  }

  /** Starts a job and waits until it occupies the stream. */
  private GatedJob running(RequestContext context, List<CompletableFuture<String>> answers) {
    var job = new GatedJob("first");
    answers.add(start(job, context));
    await().until(() -> job.begun.getCount() == 0);
    return job;
  }

  private static Failure failure(CompletableFuture<?> answer) {
    return catchThrowableOfType(
        Failure.class,
        () -> {
          try {
            answer.join();
          } catch (java.util.concurrent.CompletionException e) {
            throw e.getCause();
          }
        });
  }

  private boolean rejectsAsDraining() {
    var answer = start(new GatedJob("more"), context(Deadline.in(20), new AtomicBoolean()));
    return failure(answer).code() == Code.DRAINING;
  }

  @Test
  void commitsAndClosesAJobBeforeReturning() {
    var job = new GatedJob("only");
    job.gate.countDown();
    pool.run(job, RequestContext.OWN);
    assertThat(log).containsExactly("run only", "commit only", "close only");
  }

  private GatedJob transfer(String name) {
    var job = new GatedJob(name);
    job.gate.countDown();
    job.isTransfer = true;
    return job;
  }

  @Test
  void transfersRunOnTheCallersThreadIfTheDeviceIsSynchronous() {
    var queued = transfer("queued");
    pool.run(queued, RequestContext.OWN);
    assertThat(queued.ranOn).isNotEqualTo(Thread.currentThread());
    device.declareSynchronous();
    var direct = transfer("direct");
    pool.run(direct, RequestContext.OWN);
    assertThat(direct.ranOn).isEqualTo(Thread.currentThread());
    assertThat(log)
        .containsExactly(
            "run queued",
            "commit queued",
            "close queued",
            "run direct",
            "commit direct",
            "close direct");
  }

  @Test
  void transfersOnTheCallersThreadReportFaults() {
    device.declareSynchronous();
    var job = transfer("broken");
    job.fault = new DeviceException.OutOfMemory(10, 5);
    var submitted = pool.start(job, RequestContext.OWN);
    assertThat(catchThrowableOfType(Failure.class, submitted::await).code())
        .isEqualTo(Code.OUT_OF_DEVICE_MEMORY);
    assertThat(log).containsExactly("close broken");
  }

  @Test
  void transfersOnTheCallersThreadMeetTheirDeadline() {
    device.declareSynchronous();
    var deadline = Deadline.in(1);
    while (deadline.remainingNanos() > 0) {
      Thread.onSpinWait();
    }
    var answer = start(transfer("late"), context(deadline, new AtomicBoolean()));
    assertThat(failure(answer).code()).isEqualTo(Code.DEADLINE_EXCEEDED);
    assertThat(log).containsExactly("close late");
  }

  @Test
  void closesTransfersForWhichTheClosedDeviceOpensNoStream() {
    device.declareSynchronous();
    device.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> pool.start(transfer("late"), RequestContext.OWN));
    assertThat(log).containsExactly("close late");
  }

  @Test
  void whileDrainingOnlyTransfersThatHaveBegunContinue() {
    device.declareSynchronous();
    var answers = new ArrayList<CompletableFuture<String>>();
    var held = running(RequestContext.OWN, answers);
    var drained = CompletableFuture.runAsync(pool::drain, clients);
    await().until(this::rejectsAsDraining);
    log.clear();
    var next = transfer("next");
    next.isContinuation = true;
    pool.run(next, RequestContext.OWN);
    assertThat(failure(start(transfer("new"), RequestContext.OWN)).code()).isEqualTo(Code.DRAINING);
    assertThat(log).containsExactly("run next", "commit next", "close next", "close new");
    held.gate.countDown();
    drained.join();
    var last = transfer("last");
    last.isContinuation = true;
    assertThat(failure(start(last, RequestContext.OWN)).code()).isEqualTo(Code.DRAINING);
  }

  @Test
  void startsAJobOnANewPoolAtOnce() {
    for (int i = 0; i < 20; i++) {
      pool.close();
      pool = pool(Duration.ZERO);
      var job = new GatedJob("job");
      var submitted = pool.start(job, RequestContext.OWN);
      assertThat(pool.busy(0)).isEqualTo(1);
      job.gate.countDown();
      submitted.await();
    }
  }

  @Test
  void doesNotRunJobsPastTheirDeadline() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    var late = start(new GatedJob("late"), context(Deadline.in(50), new AtomicBoolean()));
    assertThat(failure(late))
        .hasMessage("the call did not finish within its deadline of 50 ms; no result was stored");
    assertThat(log).containsExactly("close late");
    first.gate.countDown();
    assertThat(answers.getFirst().join()).isEqualTo("first");
  }

  @Test
  void discardsResultsOfLateJobs() throws Exception {
    Timeouts.lengthen(
        50,
        deadline -> {
          log.clear();
          var first = new GatedJob("first");
          var answer = start(first, context(Deadline.in(deadline), new AtomicBoolean()));
          assertThat(failure(answer).code()).isEqualTo(Code.DEADLINE_EXCEEDED);
          if (log.contains("close first")) {
            return false; // it has not run
          }
          assertThat(log).isEmpty();
          first.gate.countDown();
          await().untilAsserted(() -> assertThat(log).containsExactly("run first", "close first"));
          return true;
        });
  }

  @Test
  void cancelsJobsOfDisconnectedClients() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var gone = new AtomicBoolean();
    var first = running(context(Deadline.none(), gone), answers);
    var second = start(new GatedJob("second"), context(Deadline.none(), gone));
    await().until(() -> pool.waiting() == 1);
    gone.set(true);
    assertThat(failure(second)).hasMessage("the client disconnected; nothing was stored");
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.CANCELLED);
    assertThat(log).containsExactly("close second");
    first.gate.countDown();
    await()
        .untilAsserted(
            () -> assertThat(log).containsExactly("close second", "run first", "close first"));
  }

  @Test
  void runsUrgentJobsFirst() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    var normal = new GatedJob("normal");
    var urgent = new GatedJob("urgent");
    normal.gate.countDown();
    urgent.gate.countDown();
    answers.add(start(normal, RequestContext.OWN));
    await().until(() -> pool.waiting() == 1);
    answers.add(start(urgent, new RequestContext(Tenant.LOCAL, 1, Deadline.none(), () -> false)));
    await().until(() -> pool.waiting() == 2);
    first.gate.countDown();
    answers.forEach(CompletableFuture::join);
    assertThat(log.stream().filter(line -> line.startsWith("run")))
        .containsExactly("run first", "run urgent", "run normal");
  }

  @Test
  void limitsTheHostMemoryOfWaitingJobs() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    var large = new GatedJob("large");
    large.hostBytes = 1000;
    large.gate.countDown();
    answers.add(start(large, RequestContext.OWN));
    await().until(() -> pool.waiting() == 1);
    var more = new GatedJob("more");
    more.hostBytes = 100;
    var rejection = (Failure.Busy) failure(start(more, RequestContext.OWN));
    assertThat(rejection.code()).isEqualTo(Code.QUEUE_FULL);
    assertThat(rejection)
        .hasMessageMatching(
            "Queue full: 1 jobs are waiting, 1 of them for this tenant \\(see athanor.run.queue, queue-time, queue-bytes and athanor.quota.share\\)\\. Retry after \\d+ s\\.");
    assertThat(rejection.retryAfter()).isPositive();
    first.gate.countDown();
    answers.forEach(CompletableFuture::join);
    assertThat(log).contains("close more").doesNotContain("run more");
  }

  @Test
  void faultFailsOnlyItsJob() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    first.fault = new DeviceException.KernelFault("k", List.of("thread 7"));
    var second = new GatedJob("second");
    second.gate.countDown();
    answers.add(start(second, RequestContext.OWN));
    await().until(() -> pool.waiting() == 1);
    first.gate.countDown();
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.INTERNAL);
    assertThat(answers.getLast().join()).isEqualTo("second");
    assertThat(log).startsWith("close first");
  }

  @Test
  void lostDeviceFailsWaitingJobs() {
    health.passed();
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    first.fault = new DeviceException.Lost("the device fell off the bus");
    answers.add(start(new GatedJob("second"), RequestContext.OWN));
    await().until(() -> pool.waiting() == 1);
    assertThat(health.isReady()).isTrue();
    first.gate.countDown();
    answers.forEach(answer -> assertThat(failure(answer).code()).isEqualTo(Code.DEVICE_LOST));
    assertThat(health.isReady()).isFalse();
    assertThat(health.isLive(Duration.ofHours(1))).isTrue();
    assertThat(health.isLive(Duration.ZERO)).isFalse();
    assertThat(failure(start(new GatedJob("third"), RequestContext.OWN)).code())
        .isEqualTo(Code.DEVICE_LOST);
    assertThat(log).containsExactlyInAnyOrder("close first", "close second", "close third");
  }

  @Test
  void drainFinishesAdmittedJobs() throws Exception {
    Timeouts.lengthen(200, this::drainFinishesAdmittedJobs);
  }

  private boolean drainFinishesAdmittedJobs(int drainDelay) {
    pool.close();
    health = new DeviceHealth(List.of("fake:0"));
    pool = pool(Duration.ofMillis(drainDelay));
    health.passed();
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    var drain = CompletableFuture.runAsync(pool::drain, clients);
    await().until(() -> !health.isReady());
    var second = new GatedJob("second");
    second.gate.countDown();
    answers.add(start(second, RequestContext.OWN)); // not ready, but still serving
    await().until(this::rejectsAsDraining);
    assertThat(drain).isNotDone();
    first.gate.countDown();
    assertThat(answers.getFirst().join()).isEqualTo("first");
    drain.join();
    if (answers.getLast().isCompletedExceptionally()) {
      assertThat(failure(answers.getLast()).code()).isEqualTo(Code.DRAINING);
      return false;
    }
    assertThat(answers.getLast().join()).isEqualTo("second");
    assertThat(catchThrowableOfType(Failure.class, health::admit).code()).isEqualTo(Code.DRAINING);
    return true;
  }

  @Test
  void secondDrainEndsImmediately() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    var drain = CompletableFuture.runAsync(pool::drain, clients);
    await().until(this::rejectsAsDraining);
    pool.drain();
    drain.join();
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.DRAINING);
    first.gate.countDown();
    await().untilAsserted(() -> assertThat(log).contains("close first"));
    assertThat(log).doesNotContain("commit first");
  }

  /** Jobs without a deadline fail when the watchdog declares the device lost. */
  @Test
  void watchdogDeclaresTheDeviceOfAHangingLaunchLost() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var stuck = running(context(Deadline.none(), new AtomicBoolean()), answers);
    var late = start(new GatedJob("late"), context(Deadline.in(20), new AtomicBoolean()));
    assertThat(failure(late).code()).isEqualTo(Code.DEADLINE_EXCEEDED);
    var next = start(new GatedJob("next"), context(Deadline.none(), new AtomicBoolean()));
    await().until(() -> pool.waiting() == 1);
    pool.watch(Duration.ofHours(1));
    assertThat(health.isLost()).isFalse();
    pool.watch(Duration.ZERO);
    assertThat(health.isLost()).isTrue();
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.DEVICE_LOST);
    assertThat(failure(next).code()).isEqualTo(Code.DEVICE_LOST);
    stuck.gate.countDown();
    await().until(() -> log.contains("close first"));
    assertThat(log)
        .containsExactlyInAnyOrder("close late", "close next", "run first", "close first");
  }

  /** The only stream continues, and all clients get a response. */
  @Test
  void failureToCloseAffectsNoOtherJob() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var first = running(RequestContext.OWN, answers);
    first.failsToClose = true;
    first.fault = new DeviceException.KernelFault("k", List.of("thread 7"));
    var late = new GatedJob("late");
    late.failsToClose = true;
    assertThat(failure(start(late, context(Deadline.in(20), new AtomicBoolean()))).code())
        .isEqualTo(Code.DEADLINE_EXCEEDED);
    first.gate.countDown();
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.INTERNAL);
    for (int i = 0; i < 2; i++) {
      var next = new GatedJob("next");
      next.failsToClose = true;
      next.gate.countDown();
      var answer = start(next, context(Deadline.in(3_600_000), new AtomicBoolean()));
      assertThat(answer.join()).as("committed result").isEqualTo("next");
    }
    assertThat(health.isLost()).isFalse();
  }

  /** After the run, hashing the kind of the job fails, which breaks the update of estimates. */
  @Test
  void failureInTheStreamLoopDeclaresTheDeviceLost() {
    health.passed();
    var answers = new ArrayList<CompletableFuture<String>>();
    var broken = new AtomicBoolean();
    var job = new GatedJob("broken");
    job.kind =
        new Object() {
          @Override
          public int hashCode() {
            if (broken.get()) {
              throw new IllegalStateException("no hash");
            }
            return 1;
          }

          @Override
          public boolean equals(Object other) {
            return this == other;
          }
        };
    answers.add(start(job, RequestContext.OWN));
    await().until(() -> job.begun.getCount() == 0);
    broken.set(true);
    job.gate.countDown();
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.DEVICE_LOST);
    assertThat(health.isReady()).isFalse();
    assertThat(failure(start(new GatedJob("next"), RequestContext.OWN)).code())
        .isEqualTo(Code.DEVICE_LOST);
  }

  @Test
  void watchdogDeclaresTheDeviceOfAHangingCommitLost() {
    var answers = new ArrayList<CompletableFuture<String>>();
    var job = running(RequestContext.OWN, answers);
    job.hangsInCommit = true;
    job.gate.countDown();
    await().until(() -> log.contains("commit first"));
    pool.watch(Duration.ZERO);
    assertThat(failure(answers.getFirst()).code()).isEqualTo(Code.DEVICE_LOST);
    assertThat(health.isLost()).isTrue();
    job.commitGate.countDown();
    await().until(() -> log.contains("close first"));
  }
}
