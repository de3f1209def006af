package dev.athanor.engine.emulator;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Report;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The threads that execute blocks. */
final class Workers implements AutoCloseable {

  private final int count;
  private final ExecutorService threads;
  private final IdleClusters idle = new IdleClusters();

  Workers(int count) {
    this.count = count;
    this.threads =
        Executors.newFixedThreadPool(
            count, Thread.ofPlatform().daemon().name("emulator-", 0).factory());
  }

  /**
   * Runs all blocks of a launch, those of a cluster together; they start in the order of their
   * numbers.
   *
   * @throws KernelFault of the failed cluster with the lowest number
   */
  void run(LaunchedKernel launch) {
    var work = new Work(launch, idle);
    long clusters = Cluster.count(launch);
    if (clusters == 1) {
      work.runHere(); // to wake a worker takes longer than many a small kernel
    } else {
      List<Future<?>> parts = new ArrayList<>();
      for (long i = Math.min(count, clusters); i > 0; i--) {
        parts.add(threads.submit(work));
      }
      parts.forEach(Workers::await);
    }
    var failure = work.failure.get();
    check(launch, failure == null ? null : failure.fault);
  }

  /**
   * Runs all blocks of a cooperative launch by turns, in the thread that launched.
   *
   * @throws KernelFault when a thread did something undefined
   */
  static void runCooperatively(LaunchedKernel launch) {
    var clusters = new ArrayList<Cluster>();
    for (long i = launch.grid().count() / launch.cluster().count(); i > 0; i--) {
      clusters.add(new Cluster(launch, _ -> false));
    }
    Fault failure = null;
    try {
      Cluster.runTogether(clusters);
    } catch (Fault fault) {
      failure = fault;
    } catch (RuntimeException | Error e) {
      throw broken(e);
    }
    check(launch, failure);
  }

  /** Throws what has been found in a launch that has ended. */
  private static void check(LaunchedKernel launch, @Nullable Fault fault) {
    var found = new ArrayList<Report>();
    if (fault != null) {
      found.addAll(fault.reports());
    }
    if (launch.sanitizer() != null) {
      found.addAll(launch.sanitizer().reports());
    }
    if (!found.isEmpty()) {
      throw KernelFault.of(launch.program().kernel().name(), found);
    }
  }

  /** A device finishes its work even when the thread that waits for it is interrupted. */
  private static void await(Future<?> part) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          part.get();
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (ExecutionException e) {
          throw broken(e.getCause());
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static IllegalStateException broken(@Nullable Throwable cause) {
    return new IllegalStateException("the emulator itself failed", cause);
  }

  @Override
  public void close() {
    threads.shutdown();
  }

  private record Failure(long cluster, Fault fault) {}

  /** What the workers of one launch share. */
  private static final class Work implements Runnable {
    private final LaunchedKernel launch;
    private final IdleClusters idle;
    private final AtomicLong next = new AtomicLong();
    private final AtomicReference<@Nullable Failure> failure = new AtomicReference<>();

    Work(LaunchedKernel launch, IdleClusters idle) {
      this.launch = launch;
      this.idle = idle;
    }

    /** Runs in the thread that launched. */
    void runHere() {
      try {
        run();
      } catch (RuntimeException | Error e) {
        throw broken(e);
      }
    }

    @Override
    public void run() {
      var cluster = idle.take(launch, this::isCancelled);
      long clusters = Cluster.count(launch);
      for (long number = next.getAndIncrement();
          number < clusters && !isCancelled(number);
          number = next.getAndIncrement()) {
        try {
          cluster.run(number);
        } catch (Fault fault) {
          var own = new Failure(number, fault);
          failure.accumulateAndGet(own, Work::lower);
        }
      }
      if (failure.get() == null) {
        idle.keep(launch, cluster);
      }
    }

    /** Those before the failed one still run, so that the same fault is reported every time. */
    private boolean isCancelled(long cluster) {
      var known = failure.get();
      return known != null && known.cluster < cluster;
    }

    private static @Nullable Failure lower(@Nullable Failure a, @Nullable Failure b) {
      return a == null || (b != null && b.cluster < a.cluster) ? b : a;
    }
  }
}
