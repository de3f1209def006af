package dev.athanor.engine.emulator.run;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.LongPredicate;

/**
 * Clusters that launches have left, kept for others of the same program and shape: to bind
 * instructions takes longer than to execute many a small kernel. Few are kept, those that were used
 * last, since each has the registers and the memory of its threads.
 */
final class IdleClusters {

  static final int MOST = 32;

  private record Idle(LoadedProgram program, ClusterRunner cluster) {}

  /** Those used last first. */
  private final Deque<Idle> idle = new ArrayDeque<>();

  /**
   * A cluster to run those of a launch in, one after the other.
   *
   * @param cancelled see {@link ClusterRunner}
   */
  ClusterRunner take(LaunchedKernel launch, LongPredicate cancelled) {
    if (ClusterRunner.isReusable(launch)) {
      synchronized (this) {
        for (var each = idle.iterator(); each.hasNext(); ) {
          var next = each.next();
          if (next.program == launch.program() && next.cluster.launch(launch, cancelled)) {
            each.remove();
            return next.cluster;
          }
        }
      }
    }
    return new ClusterRunner(launch, cancelled);
  }

  /** Keeps a cluster whose launch has gone well. */
  void keep(LaunchedKernel launch, ClusterRunner cluster) {
    if (ClusterRunner.isReusable(launch)) {
      synchronized (this) {
        idle.push(new Idle(launch.program(), cluster));
        if (idle.size() > MOST) {
          idle.removeLast();
        }
      }
    }
  }
}
