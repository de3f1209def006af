package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.async.AsyncCluster;
import dev.athanor.engine.emulator.async.AsyncState;
import dev.athanor.engine.emulator.async.PendingOperations;
import dev.athanor.engine.emulator.jit.Compiler;
import dev.athanor.engine.emulator.jit.Compiler.Compiled;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.program.Program;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.step.Cluster;
import dev.athanor.engine.emulator.step.LaunchContext;
import dev.athanor.engine.emulator.step.PrintBuffer;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** A program on a device: its counters, and its JVM code once it is hot. */
public final class LoadedProgram {

  /** Interpreted warp instructions after which a program is compiled: some milliseconds' worth. */
  private static final long HOT = 1 << 19;

  private final Program code;
  private final LongAdder interpreted = new LongAdder();
  private final LongAdder segments = new LongAdder();
  private final LongAdder fused = new LongAdder();
  private volatile @Nullable Compiled compiled;

  /**
   * Loads a program.
   *
   * @throws IllegalArgumentException if an instruction cannot be executed, naming the instruction
   */
  public LoadedProgram(Program code) {
    this.code = code;
    var trial = trial();
    bind(trial.block(), trial.async()); // so that errors show at load time
  }

  /** A block that is never run. */
  record Trial(Block block, AsyncState async) {}

  Trial trial() {
    var one = Dim3.of(1);
    var context =
        new LaunchContext(
            code.kernel(),
            one,
            Dim3.of(32),
            one,
            0,
            code.variables().constants(),
            new Memory.Small(Space.PARAM, Arena.ofAuto().allocate(1)),
            new GlobalMemory.Snapshot(List.of(), List::of, null),
            EmulatorOptions.DEFAULT,
            0,
            new PrintBuffer());
    var block =
        new Block(context, code.registers(context.block()), null, new Cluster(one, null), 0);
    var async = new AsyncCluster(new PendingOperations(AsyncTiming.LAZY, 0)).add(block);
    return new Trial(block, async);
  }

  public Program code() {
    return code;
  }

  /** Binds the instructions to the registers of a block. */
  BoundInstruction[] bind(Block block, AsyncState async) {
    var binder = code.binder(block, async);
    return code.instructions().stream().map(binder::bind).toArray(BoundInstruction[]::new);
  }

  /**
   * Adds the counts of a block that has run.
   *
   * @param steps interpreted warp instructions
   * @param runs executed segments of compiled code
   * @param products executions of fused products
   */
  void count(long steps, long runs, long products) {
    interpreted.add(steps);
    segments.add(runs);
    fused.add(products);
  }

  /** Returns how many warp instructions were interpreted. */
  public long interpreted() {
    return interpreted.sum();
  }

  /** Returns how many segments of compiled code were executed. */
  public long segments() {
    return segments.sum();
  }

  /** Returns how often fused products were executed. */
  public long fused() {
    return fused.sum();
  }

  /**
   * Whether the program has been interpreted so often that compiling it pays.
   *
   * @param more warp instructions interpreted in the current block
   */
  boolean isHot(long more) {
    return compiled != null || interpreted.sum() + more > HOT;
  }

  /**
   * Returns the JVM code of the program; the first call compiles it.
   *
   * @param everything whether to compile also what the interpreter executes faster
   */
  Compiled compiled(Block block, AsyncState async, boolean everything) {
    var known = compiled;
    return known != null ? known : compile(block, async, everything);
  }

  private synchronized Compiled compile(Block block, AsyncState async, boolean everything) {
    var known = compiled;
    if (known == null) {
      known = Compiler.compile(code.flow(), code.binder(block, async), everything);
      compiled = known;
    }
    return known;
  }
}
