package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.sanitizer.ClusterHistory;
import dev.athanor.engine.emulator.sanitizer.SanitizedLaunch;
import dev.athanor.engine.emulator.sanitizer.Sanitizer;
import dev.athanor.engine.emulator.step.LaunchContext;
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
 * @param sanitizer collects what its workers find; null = no sanitizer
 */
public record LaunchedKernel(
    long number,
    long started,
    LoadedProgram program,
    LaunchContext context,
    @Nullable SanitizedLaunch sanitizer) {

  /** Returns a launch with a sanitizer if the options ask for one. */
  public static LaunchedKernel of(long number, LoadedProgram program, LaunchContext context) {
    var plain = new LaunchedKernel(number, System.nanoTime(), program, context, null);
    var options = context.options();
    return options.sanitize() == Sanitize.OFF
        ? plain
        : new LaunchedKernel(
            number,
            plain.started,
            program,
            context,
            new SanitizedLaunch(
                plain.observed(), context.cluster(), options, context.memory().heap()));
  }

  private Observer.Observed observed() {
    return new Observer.Observed(
        number,
        program.code().kernel(),
        program.code().instructions(),
        program.code().added(),
        context.grid(),
        context.block(),
        context.sharedBytes());
  }

  /**
   * Who watches the blocks of one rank that a worker runs; null = nobody.
   *
   * @param watch what a sanitizer knows of their clusters; null = there is none
   */
  @Nullable Observer observer(@Nullable ClusterHistory watch, int rank) {
    var observed = observed();
    var all = new ArrayList<Observer>();
    if (watch != null) {
      all.add(new Sanitizer(watch, rank));
    }
    context.options().observers().forEach(factory -> all.add(factory.observe(observed)));
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.getFirst();
      default -> new Observers(List.copyOf(all));
    };
  }
}
