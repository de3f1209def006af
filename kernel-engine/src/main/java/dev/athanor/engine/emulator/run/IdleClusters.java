package dev.athanor.engine.emulator.run;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.LongPredicate;

/**
 * Idle cluster runners, kept for later launches of the same program and shape, since binding
 * instructions takes longer than running many a small kernel. Only the most recently used are kept:
 * each holds the registers and the memory of its threads.
 */
final class IdleClusters {

  static final int MOST = 32;

  private record Idle(LoadedProgram program, ClusterRunner cluster) {}

  /** Most recently used first. */
  private final Deque<Idle> idle = new ArrayDeque<>();

  /**
   * Returns a runner for the clusters of a launch.
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

  /** Keeps the runner of a launch that succeeded. */
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
