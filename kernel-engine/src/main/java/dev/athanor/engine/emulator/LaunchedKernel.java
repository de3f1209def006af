package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of a program.
 *
 * @param sharedBytes of a block
 * @param parameters their values, laid out as the kernel says
 * @param memory the buffers that it may touch
 * @param sanitizer what its workers find; null = nothing is looked for
 */
record LaunchedKernel(
    Program program,
    Dim3 grid,
    Dim3 block,
    int sharedBytes,
    Memory parameters,
    GlobalMemory.Snapshot memory,
    EmulatorOptions options,
    Sanitizer.@Nullable Launch sanitizer) {

  /** A run with a sanitizer if the options say so. */
  static LaunchedKernel of(
      Program program,
      Dim3 grid,
      Dim3 block,
      int sharedBytes,
      Memory parameters,
      GlobalMemory.Snapshot memory,
      EmulatorOptions options) {
    var sanitizer =
        options.sanitize() == Sanitize.OFF
            ? null
            : new Sanitizer.Launch(observed(program, grid, block, sharedBytes), options.sanitize());
    return new LaunchedKernel(
        program, grid, block, sharedBytes, parameters, memory, options, sanitizer);
  }

  private static Observer.Observed observed(
      Program program, Dim3 grid, Dim3 block, int sharedBytes) {
    return new Observer.Observed(
        program.kernel(), program.instructions(), grid, block, sharedBytes);
  }

  /** Who watches one worker; null = nobody. */
  @Nullable Observer observer() {
    var observed = observed(program, grid, block, sharedBytes);
    var all = new ArrayList<Observer>();
    if (sanitizer != null) {
      all.add(new Sanitizer(sanitizer));
    }
    options.observers().forEach(factory -> all.add(factory.observe(observed)));
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.getFirst();
      default -> new Observers(List.copyOf(all));
    };
  }

  /** A launch that is never run. */
  static LaunchedKernel trial(Program program) {
    return new LaunchedKernel(
        program,
        Dim3.of(1),
        Dim3.of(32),
        0,
        new Memory.Small(Space.PARAM, Arena.ofAuto().allocate(1)),
        new GlobalMemory.Snapshot(List.of(), List.of()),
        EmulatorOptions.DEFAULT,
        null);
  }
}
