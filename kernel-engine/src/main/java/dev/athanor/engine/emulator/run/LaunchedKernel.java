package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.LaunchContext;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import dev.athanor.engine.emulator.watch.LaunchObserver;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.emulator.watch.Observers;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A launch of a loaded program.
 *
 * @param number the number of the launch on its device, from 0
 * @param started when the launch began, by {@link System#nanoTime}
 * @param context what its blocks see of it
 * @param observer the observer of the whole launch, whose reports fail it; null = none
 */
public record LaunchedKernel(
    long number,
    long started,
    LoadedProgram program,
    LaunchContext context,
    @Nullable LaunchObserver observer) {

  /**
   * Returns a new launch.
   *
   * @param observers creates the observer of the launch; null = none
   */
  public static LaunchedKernel of(
      long number,
      LoadedProgram program,
      LaunchContext context,
      LaunchObserver.@Nullable Factory observers) {
    var plain = new LaunchedKernel(number, System.nanoTime(), program, context, null);
    return observers == null
        ? plain
        : new LaunchedKernel(
            number, plain.started, program, context, observers.observe(plain.observed()));
  }

  private Observer.Observed observed() {
    return new Observer.Observed(
        number,
        program.code().kernel(),
        program.code().instructions(),
        program.code().added(),
        context.grid(),
        context.block(),
        context.cluster(),
        context.sharedBytes(),
        Block.localBytes(context.kernel()),
        context.memory().heap());
  }

  /**
   * Returns the observer of the blocks of one rank that a worker runs; null = none.
   *
   * @param clusters the observer of their clusters; null = none
   */
  @Nullable Observer observer(@Nullable ClusterObserver clusters, int rank) {
    var observed = observed();
    var all = new ArrayList<Observer>();
    if (clusters != null) {
      all.add(clusters.observer(rank));
    }
    for (var factory : context.options().observers()) {
      var added = factory.observe(observed);
      if (observer != null) {
        observer.listen(added::found);
      }
      all.add(added);
    }
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.getFirst();
      default -> new Observers(List.copyOf(all));
    };
  }
}
