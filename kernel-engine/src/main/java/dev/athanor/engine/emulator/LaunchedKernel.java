package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.Arena;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of a program.
 *
 * @param number of the launch on its device, from 0
 * @param cluster how many blocks are resident together
 * @param sharedBytes of a block
 * @param parameters their values, laid out as the kernel says
 * @param memory the buffers that it may touch
 */
record LaunchedKernel(
    long number,
    Program program,
    Dim3 grid,
    Dim3 block,
    Dim3 cluster,
    int sharedBytes,
    Memory parameters,
    GlobalMemory.Snapshot memory,
    EmulatorOptions options) {

  /** Who watches one worker; null = nobody. */
  @Nullable Observer observer() {
    var observed =
        new Observer.Observed(
            number, program.kernel(), program.instructions(), grid, block, sharedBytes);
    var all = options.observers().stream().map(factory -> factory.observe(observed)).toList();
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.getFirst();
      default -> new Observers(all);
    };
  }

  /** A launch that is never run. */
  static LaunchedKernel trial(Program program) {
    return new LaunchedKernel(
        0,
        program,
        Dim3.of(1),
        Dim3.of(32),
        Dim3.of(1),
        0,
        new Memory.Small(Space.PARAM, Arena.ofAuto().allocate(1)),
        new GlobalMemory.Snapshot(List.of(), List.of()),
        EmulatorOptions.DEFAULT);
  }
}
