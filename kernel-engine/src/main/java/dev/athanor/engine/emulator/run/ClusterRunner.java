package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.async.AsyncCluster;
import dev.athanor.engine.emulator.async.PendingOperations;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.emulator.step.Cluster;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Runs the blocks of a cluster (PTX ISA 2.2.2) in turns until all have ended. A block that is
 * launched without a cluster is alone in one.
 */
public final class ClusterRunner {

  /** Maximum number of failed timed waits before the watchdog reports a deadlock. */
  private static final int MAX_EXPIRIES = 64;

  private final Dim3 grid;
  private final Dim3 block;
  private final Dim3 shape;
  private final int sharedBytes;
  private final long patience;
  private final Execution execution;
  private final List<BlockRunner> runners = new ArrayList<>();
  private final PendingOperations work;
  private final Cluster cluster;
  private final @Nullable Duration timeout;
  private LongPredicate cancelled;

  /** When the launch began, by {@link System#nanoTime}. */
  private long started;

  /**
   * @param cancelled whether the cluster of a number need not run to its end
   */
  public ClusterRunner(LaunchedKernel launch, LongPredicate cancelled) {
    this.grid = launch.context().grid();
    this.block = launch.context().block();
    this.shape = launch.context().cluster();
    this.sharedBytes = launch.context().sharedBytes();
    this.patience = launch.context().options().patience();
    this.timeout = launch.context().options().timeout();
    this.started = launch.started();
    this.cancelled = cancelled;
    this.work =
        new PendingOperations(
            launch.context().options().asyncTiming(), launch.context().options().seed());
    this.cluster =
        new Cluster(shape, launch.observer() == null ? null : launch.observer().observeClusters());
    var async = new AsyncCluster(work);
    for (int rank = 0; rank < shape.count(); rank++) {
      runners.add(new BlockRunner(launch, cluster, async, rank));
    }
    boolean compilable =
        shape.count() == 1
            && launch.observer() == null
            && launch.context().options().observers().isEmpty()
            && launch.context().options().schedule() == Schedule.CONVERGING
            && launch.context().sharedBytes() % Integer.BYTES
                == 0; // compiled code accesses shared memory in words
    this.execution = compilable ? launch.context().options().execution() : Execution.INTERPRETED;
  }

  /** Returns whether a runner of this launch can serve other launches of the same program. */
  public static boolean isReusable(LaunchedKernel launch) {
    return launch.observer() == null && launch.context().options().observers().isEmpty();
  }

  /**
   * Reuses the runner for another launch of the same program.
   *
   * @return false if the launch has another shape; nothing has changed then
   */
  public boolean launch(LaunchedKernel launch, LongPredicate isCancelled) {
    if (!grid.equals(launch.context().grid())
        || !block.equals(launch.context().block())
        || !shape.equals(launch.context().cluster())
        || sharedBytes != launch.context().sharedBytes()) {
      return false;
    }
    cancelled = isCancelled;
    started = launch.started();
    runners.forEach(runner -> runner.launch(launch));
    return true;
  }

  public Cluster cluster() {
    return cluster;
  }

  private int size() {
    return runners.size();
  }

  /**
   * Runs the blocks of a cluster to their ends.
   *
   * @throws Fault if a thread did something undefined
   */
  public void run(long cluster) {
    try {
      run(cluster, execution);
    } catch (Fault fault) {
      // Compiled threads run one after another and may reach another fault first than threads in
      // lockstep.
      // If memory is unchanged, the interpreter decides which fault comes first.
      var first = runners.getFirst();
      if (first.ranCompiled() && !first.block().hasStored()) {
        run(cluster, Execution.INTERPRETED);
      }
      runners.forEach(runner -> runner.failed(fault));
      throw fault;
    }
  }

  private void run(long cluster, Execution how) {
    begin(cluster, how);
    finish(List.of(this), () -> cancelled.test(cluster));
  }

  private void begin(long cluster, Execution how) {
    for (int rank = 0; rank < size(); rank++) {
      runners.get(rank).begin(LaunchGeometry.number(grid, shape, cluster, rank), how);
    }
    this.cluster.barrier().clear();
    work.begin(cluster);
  }

  /**
   * Runs the blocks of all clusters of a launch to their ends, in turns.
   *
   * @throws Fault if a thread did something undefined
   */
  public static void runTogether(List<ClusterRunner> all) {
    try {
      runTogether(all, all.getFirst().execution);
    } catch (Fault fault) {
      // as in run: the interpreter decides which fault comes first
      var blocks = all.stream().flatMap(cluster -> cluster.runners.stream()).toList();
      if (blocks.stream().anyMatch(BlockRunner::ranCompiled)
          && blocks.stream().noneMatch(runner -> runner.block().hasStored())) {
        runTogether(all, Execution.INTERPRETED);
      }
      all.forEach(cluster -> cluster.runners.forEach(runner -> runner.failed(fault)));
      throw fault;
    }
  }

  private static void runTogether(List<ClusterRunner> all, Execution how) {
    for (int number = 0; number < all.size(); number++) {
      all.get(number).begin(number, how);
    }
    finish(all, () -> false);
  }

  /** Runs started clusters in turns until all have ended. */
  private static void finish(List<ClusterRunner> all, BooleanSupplier isCancelled) {
    long before = 0;
    long idleJumps = 0;
    int expiries = 0;
    var timeout = all.getFirst().timeout;
    long started = all.getFirst().started;
    while (!isCancelled.getAsBoolean()) {
      boolean some = false;
      boolean left = false;
      for (var cluster : all) {
        for (var runner : cluster.runners) {
          some |= runner.advance();
          left |= !runner.isDone();
        }
      }
      if (!left) {
        all.forEach(ClusterRunner::end);
        return;
      }
      if (timeout != null && timeout.compareTo(Duration.ofNanos(System.nanoTime() - started)) < 0) {
        throw overdue(all, timeout);
      }
      if (!some) {
        boolean expired = false;
        if (expiries < MAX_EXPIRIES) {
          for (var cluster : all) {
            for (var runner : cluster.runners) {
              expired |= runner.expire();
            }
          }
        }
        if (!expired) {
          throw fault(all, "waits forever", 0);
        }
        expiries++;
      }
      long now = 0;
      for (var cluster : all) {
        for (var runner : cluster.runners) {
          now += runner.block().progressed();
        }
      }
      idleJumps = now == before ? idleJumps + (long) BlockRunner.TURN * all.size() : 0;
      expiries = now == before ? expiries : 0;
      before = now;
      if (idleJumps >= all.getFirst().patience) {
        throw fault(all, "loops forever", idleJumps);
      }
    }
  }

  private void end() {
    work.end();
    runners.forEach(BlockRunner::end);
  }

  private static Fault overdue(List<ClusterRunner> all, Duration limit) {
    var seconds =
        BigDecimal.valueOf(limit.getSeconds()).add(BigDecimal.valueOf(limit.getNano(), 9));
    var what =
        "exceeds the timeout of the launch, %s s"
            .formatted(seconds.stripTrailingZeros().toPlainString());
    return new Fault(
        all.stream()
            .flatMap(cluster -> cluster.runners.stream())
            .flatMap(runner -> runner.first(Kind.TIMEOUT, what))
            .limit(1)
            .toList());
  }

  private static Fault fault(List<ClusterRunner> all, String what, long jumps) {
    var reports = new ArrayList<Report>();
    for (var cluster : all) {
      cluster.runners.forEach(runner -> reports.addAll(runner.stuck(jumps)));
    }
    if (reports.isEmpty()) {
      throw new IllegalStateException(what + ", but no thread does");
    }
    return new Fault(reports);
  }
}
