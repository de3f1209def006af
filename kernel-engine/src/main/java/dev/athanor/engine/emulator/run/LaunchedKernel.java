package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatorOptions;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.program.Program;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.PrintBuffer;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import dev.athanor.engine.emulator.watch.LaunchObserver;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.emulator.watch.Observers;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of a program.
 *
 * @param number of the launch on its device, from 0
 * @param started when it began, as {@link System#nanoTime} says
 * @param cluster how many blocks are resident together
 * @param sharedBytes of a block
 * @param parameters their values, laid out as the kernel says
 * @param memory the buffers that it may touch
 * @param workspace the address of the memory in which the blocks of a cooperative launch wait for
 *     one another; 0 = it is no such launch
 * @param printed what its blocks print
 * @param observer of the launch as a whole, whose reports make it fail; null = there is none
 */
public record LaunchedKernel(
    long number,
    long started,
    Program program,
    Dim3 grid,
    Dim3 block,
    Dim3 cluster,
    int sharedBytes,
    Memory parameters,
    GlobalMemory.Snapshot memory,
    EmulatorOptions options,
    long workspace,
    PrintBuffer printed,
    @Nullable LaunchObserver observer) {

  /**
   * A new run.
   *
   * @param observers makes its observer; null = it has none
   */
  public static LaunchedKernel of(
      long number,
      Program program,
      Dim3 grid,
      Dim3 block,
      Dim3 cluster,
      int sharedBytes,
      Memory parameters,
      GlobalMemory.Snapshot memory,
      EmulatorOptions options,
      long workspace,
      LaunchObserver.@Nullable Factory observers) {
    var plain =
        new LaunchedKernel(
            number,
            System.nanoTime(),
            program,
            grid,
            block,
            cluster,
            sharedBytes,
            parameters,
            memory,
            options,
            workspace,
            new PrintBuffer(),
            null);
    return observers == null ? plain : plain.withObserver(observers.observe(plain.observed()));
  }

  private LaunchedKernel withObserver(LaunchObserver newObserver) {
    return new LaunchedKernel(
        number,
        started,
        program,
        grid,
        block,
        cluster,
        sharedBytes,
        parameters,
        memory,
        options,
        workspace,
        printed,
        newObserver);
  }

  private Observer.Observed observed() {
    return new Observer.Observed(
        number,
        program.kernel(),
        program.instructions(),
        program.added(),
        grid,
        block,
        cluster,
        sharedBytes,
        Block.localBytes(program.kernel()),
        memory.heap());
  }

  /**
   * Who watches the blocks of one rank that a worker runs; null = nobody.
   *
   * @param clusters the observer of their clusters; null = there is none
   */
  @Nullable Observer observer(@Nullable ClusterObserver clusters, int rank) {
    var observed = observed();
    var all = new ArrayList<Observer>();
    if (clusters != null) {
      all.add(clusters.observer(rank));
    }
    options.observers().forEach(factory -> all.add(factory.observe(observed)));
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.getFirst();
      default -> new Observers(List.copyOf(all));
    };
  }

  /** A launch that is never run. */
  public static LaunchedKernel trial(Program program) {
    return new LaunchedKernel(
        0,
        System.nanoTime(),
        program,
        Dim3.of(1),
        Dim3.of(32),
        Dim3.of(1),
        0,
        new Memory.Small(Space.PARAM, Arena.ofAuto().allocate(1)),
        new GlobalMemory.Snapshot(List.of(), List.of(), null),
        EmulatorOptions.DEFAULT,
        0,
        new PrintBuffer(),
        null);
  }
}
