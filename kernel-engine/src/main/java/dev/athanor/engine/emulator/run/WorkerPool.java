package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.Fault;
import java.util.ArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The threads that execute clusters. */
public final class WorkerPool implements AutoCloseable {

  private final int count;
  private final ExecutorService threads;
  private final IdleClusters idle = new IdleClusters();

  public WorkerPool(int count) {
    this.count = count;
    this.threads =
        Executors.newFixedThreadPool(
            count, Thread.ofPlatform().daemon().name("emulator-", 0).factory());
  }

  /**
   * Runs the blocks of a launch, or a sample of them, cluster by cluster, starting them in the
   * order of their numbers. When it returns or throws, none of them is running.
   *
   * @throws KernelFault of the failed cluster with the lowest number
   * @throws IllegalStateException if the emulator itself fails
   */
  public void run(LaunchedKernel launch) {
    var context = launch.context();
    var sample = ClusterSample.of(context.grid(), context.cluster(), context.options().blocks());
    var work = new Work(launch, idle, sample);
    if (sample.size() == 1) {
      work.run(); // waking a worker takes longer than running many a small kernel
    } else {
      fork(work, Math.min(count, sample.size()));
    }
    var broken = work.broken.get();
    if (broken != null) {
      throw broken(broken);
    }
    var failure = work.failure.get();
    check(launch, failure == null ? null : failure.fault);
  }

  /**
   * Runs all blocks of a cooperative launch in turns, in the calling thread.
   *
   * @throws KernelFault if a thread did something undefined
   */
  public static void runCooperatively(LaunchedKernel launch) {
    var clusters = new ArrayList<ClusterRunner>();
    for (long i = launch.context().grid().count() / launch.context().cluster().count();
        i > 0;
        i--) {
      clusters.add(new ClusterRunner(launch, _ -> false));
    }
    Fault failure = null;
    try {
      ClusterRunner.runTogether(clusters);
    } catch (Fault fault) {
      failure = fault;
    } catch (RuntimeException | Error e) {
      throw broken(e);
    }
    check(launch, failure);
  }

  private static IllegalStateException broken(Throwable cause) {
    return new IllegalStateException("the emulator itself failed", cause);
  }

  /** Throws the faults and reports of a launch that has ended. */
  private static void check(LaunchedKernel launch, @Nullable Fault fault) {
    var found = new ArrayList<Report>();
    if (fault != null) {
      found.addAll(fault.reports());
    }
    if (launch.observer() != null) {
      found.addAll(launch.observer().reports());
    }
    if (!found.isEmpty()) {
      throw KernelFault.of(launch.program().code().kernel().name(), found);
    }
  }

  /** Submits work to several workers and waits for all of them, even if some fail. */
  private void fork(Work work, long parts) {
    var forked = new ArrayList<Future<?>>();
    try {
      while (forked.size() < parts) {
        forked.add(threads.submit(work));
      }
    } catch (RuntimeException | Error e) { // no thread could be started
      work.fail(e);
    }
    forked.forEach(WorkerPool::await);
  }

  /** Waits for a worker even if the calling thread is interrupted. */
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
          throw new IllegalStateException("a worker threw an exception", e);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    threads.shutdown();
  }

  private record Failure(long cluster, Fault fault) {}

  /** The state that the workers of one launch share. */
  private static final class Work implements Runnable {
    private final LaunchedKernel launch;
    private final IdleClusters idle;
    private final ClusterSample sample;
    private final AtomicLong next = new AtomicLong();
    private final AtomicReference<@Nullable Failure> failure = new AtomicReference<>();

    /** Why the emulator itself failed; null = it has not. */
    private final AtomicReference<@Nullable Throwable> broken = new AtomicReference<>();

    Work(LaunchedKernel launch, IdleClusters idle, ClusterSample sample) {
      this.launch = launch;
      this.idle = idle;
      this.sample = sample;
    }

    /** Records an internal failure, which stops the other workers. */
    void fail(Throwable cause) {
      broken.compareAndSet(null, cause);
    }

    @Override
    public void run() {
      try {
        runClusters();
      } catch (RuntimeException | Error e) {
        fail(e);
      }
    }

    private void runClusters() {
      var cluster = idle.take(launch, this::isCancelled);
      for (long i = next.getAndIncrement(); i < sample.size(); i = next.getAndIncrement()) {
        long number = sample.number(i);
        if (isCancelled(number)) {
          break;
        }
        try {
          cluster.run(number);
        } catch (Fault fault) {
          var own = new Failure(number, fault);
          failure.accumulateAndGet(own, Work::lower);
        }
      }
      if (failure.get() == null && broken.get() == null) {
        idle.keep(launch, cluster);
      }
    }

    /** Clusters before the failed one still run, so that every run reports the same fault. */
    private boolean isCancelled(long cluster) {
      if (broken.get() != null) {
        return true;
      }
      var known = failure.get();
      return known != null && known.cluster < cluster;
    }

    private static @Nullable Failure lower(@Nullable Failure a, @Nullable Failure b) {
      return a == null || (b != null && b.cluster < a.cluster) ? b : a;
    }
  }
}
