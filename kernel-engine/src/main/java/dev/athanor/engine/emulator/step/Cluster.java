package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.Schedule;
import dev.athanor.engine.emulator.async.PendingOperations;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.run.BlockRunner;
import dev.athanor.engine.emulator.run.LaunchedKernel;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Blocks that are resident together (PTX ISA 2.2.2): they see each other's shared memory, and go on
 * by turns until all have ended. A block without a cluster is one of one.
 */
public final class Cluster {

  /** How often waits that are limited in time may end in vain before nobody is waited for. */
  private static final int LIVES = 64;

  private final Dim3 grid;
  private final Dim3 block;
  private final Dim3 shape;
  private final int sharedBytes;
  private final long patience;
  private final Execution execution;
  private final List<BlockRunner> runners = new ArrayList<>();
  private final PendingOperations work;
  private final ClusterBarrier barrier = new ClusterBarrier(this);
  private final @Nullable ClusterObserver observer;
  private final @Nullable Duration timeout;
  private LongPredicate cancelled;

  /** When the launch began, as {@link System#nanoTime} says. */
  private long started;

  /**
   * @param cancelled whether a block need no longer be run to its end
   */
  public Cluster(LaunchedKernel launch, LongPredicate cancelled) {
    this.grid = launch.grid();
    this.block = launch.block();
    this.shape = launch.cluster();
    this.sharedBytes = launch.sharedBytes();
    this.patience = launch.options().patience();
    this.timeout = launch.options().timeout();
    this.started = launch.started();
    this.cancelled = cancelled;
    this.work = new PendingOperations(launch.options().asyncTiming(), launch.options().seed());
    this.observer = launch.observer() == null ? null : launch.observer().observeClusters();
    for (int rank = 0; rank < shape.count(); rank++) {
      runners.add(new BlockRunner(launch, this, rank));
    }
    boolean compilable =
        shape.count() == 1
            && observer == null
            && launch.options().observers().isEmpty()
            && launch.options().schedule() == Schedule.CONVERGING
            && launch.sharedBytes() % Integer.BYTES == 0; // it is touched by words
    this.execution = compilable ? launch.options().execution() : Execution.INTERPRETED;
  }

  /** Whether one like this could be another's, if that is of the same program and device. */
  public static boolean isReusable(LaunchedKernel launch) {
    return launch.observer() == null && launch.options().observers().isEmpty();
  }

  /**
   * Goes over to another launch of the same program.
   *
   * @return whether it is of the same shape; if not, nothing has changed
   */
  public boolean launch(LaunchedKernel launch, LongPredicate isCancelled) {
    if (!grid.equals(launch.grid())
        || !block.equals(launch.block())
        || !shape.equals(launch.cluster())
        || sharedBytes != launch.sharedBytes()) {
      return false;
    }
    cancelled = isCancelled;
    started = launch.started();
    runners.forEach(runner -> runner.launch(launch));
    return true;
  }

  /** How many clusters of a launch are run. */
  public static long count(LaunchedKernel launch) {
    long blocks = Math.min(launch.grid().count(), launch.options().blocks());
    return Math.ceilDiv(blocks, launch.cluster().count());
  }

  public int size() {
    return runners.size();
  }

  /** The work that goes on beside the threads. */
  public PendingOperations work() {
    return work;
  }

  /** The block whose shared memory this is; null = of none. */
  public @Nullable Block owner(Memory memory) {
    for (var runner : runners) {
      if (runner.block().sharedMemory == memory) {
        return runner.block();
      }
    }
    return null;
  }

  Dim3 shape() {
    return shape;
  }

  /** Returns the observer of the blocks; null = there is none. */
  public @Nullable ClusterObserver observer() {
    return observer;
  }

  public ClusterBarrier barrier() {
    return barrier;
  }

  public Block block(int rank) {
    return runners.get(rank).block();
  }

  /**
   * Runs the blocks of a cluster to their ends.
   *
   * @throws Fault when a thread did something undefined
   */
  public void run(long cluster) {
    try {
      run(cluster, execution);
    } catch (Fault fault) {
      // Threads that run one after the other may come to another fault first than threads side by
      // side. Where memory is still what it was, the interpreter says which comes first.
      var first = runners.getFirst();
      if (first.ranCompiled() && !first.block().hasStored()) {
        run(cluster, Execution.INTERPRETED);
      }
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
    barrier.clear();
    work.begin(cluster);
  }

  /**
   * Runs the blocks of all clusters of a launch to their ends, by turns.
   *
   * @throws Fault when a thread did something undefined
   */
  public static void runTogether(List<Cluster> all) {
    try {
      runTogether(all, all.getFirst().execution);
    } catch (Fault fault) {
      // see run: of a grid as well the interpreter says which fault comes first
      var blocks = all.stream().flatMap(cluster -> cluster.runners.stream()).toList();
      if (blocks.stream().anyMatch(BlockRunner::ranCompiled)
          && blocks.stream().noneMatch(runner -> runner.block().hasStored())) {
        runTogether(all, Execution.INTERPRETED);
      }
      throw fault;
    }
  }

  private static void runTogether(List<Cluster> all, Execution how) {
    for (int number = 0; number < all.size(); number++) {
      all.get(number).begin(number, how);
    }
    finish(all, () -> false);
  }

  /** Lets clusters that have begun go on by turns until all have ended. */
  private static void finish(List<Cluster> all, BooleanSupplier isCancelled) {
    long before = 0;
    long idleJumps = 0;
    int lives = 0;
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
        all.forEach(Cluster::end);
        return;
      }
      if (timeout != null && timeout.compareTo(Duration.ofNanos(System.nanoTime() - started)) < 0) {
        throw overdue(all, timeout);
      }
      if (!some) {
        boolean expired = false;
        if (lives < LIVES) {
          for (var cluster : all) {
            for (var runner : cluster.runners) {
              expired |= runner.expire();
            }
          }
        }
        if (!expired) {
          throw fault(all, "waits for ever", 0);
        }
        lives++;
      }
      long now = 0;
      for (var cluster : all) {
        for (var runner : cluster.runners) {
          now += runner.block().progressed();
        }
      }
      idleJumps = now == before ? idleJumps + (long) BlockRunner.TURN * all.size() : 0;
      lives = now == before ? lives : 0;
      before = now;
      if (idleJumps >= all.getFirst().patience) {
        throw fault(all, "goes round a loop for ever", idleJumps);
      }
    }
  }

  private void end() {
    work.end();
    runners.forEach(BlockRunner::end);
  }

  private static Fault overdue(List<Cluster> all, Duration limit) {
    var seconds =
        BigDecimal.valueOf(limit.getSeconds()).add(BigDecimal.valueOf(limit.getNano(), 9));
    var what =
        "has not ended within the timeout of the launch, %s s"
            .formatted(seconds.stripTrailingZeros().toPlainString());
    return new Fault(
        all.stream()
            .flatMap(cluster -> cluster.runners.stream())
            .flatMap(runner -> runner.first(Kind.TIMEOUT, what))
            .limit(1)
            .toList());
  }

  private static Fault fault(List<Cluster> all, String what, long jumps) {
    var reports = new ArrayList<Report>();
    for (var cluster : all) {
      cluster.runners.forEach(runner -> reports.addAll(runner.stuck(jumps)));
    }
    if (reports.isEmpty()) {
      throw new IllegalStateException(what + ", but nobody does");
    }
    return new Fault(reports);
  }
}
