package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import java.util.List;
import java.util.function.Consumer;

/** Observes a whole launch. Its workers share it and call it at the same time. */
public interface LaunchObserver {

  /** Makes the observers of launches. */
  @FunctionalInterface
  interface Factory {
    /** Returns a new observer of a launch. */
    LaunchObserver observe(Observed launch);
  }

  /** Returns a new observer of the clusters that one worker executes. */
  ClusterObserver observeClusters();

  /** Calls a listener with each new report from now on, in the worker that has found it. */
  void listen(Consumer<Report> listener);

  /** Returns the reports so far, in the order of their instructions. */
  List<Report> reports();
}
