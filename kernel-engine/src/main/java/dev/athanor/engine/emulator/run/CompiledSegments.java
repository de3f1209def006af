package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.async.AsyncState;
import dev.athanor.engine.emulator.jit.CompiledCode;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.step.Block;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** The compiled segments that a block may execute, depending on its execution mode. */
final class CompiledSegments {

  private static final BitSet NONE = new BitSet();

  private final LoadedProgram program;
  private final Block block;
  private final AsyncState async;

  private Execution execution = Execution.INTERPRETED;
  private @Nullable CompiledCode compiled;

  /** The instructions at which segments begin; empty while the block is interpreted. */
  private BitSet starts = NONE;

  /** Whether compiled code bailed out, so that the rest of the block is interpreted. */
  private boolean bailedOut;

  /** Executed segments in the current block. */
  private long executed;

  CompiledSegments(LoadedProgram program, Block block, AsyncState async) {
    this.program = program;
    this.block = block;
    this.async = async;
  }

  /** Discards code bound to the memory locations of a launch. */
  void launch() {
    compiled = null;
  }

  /** Starts a block. */
  void begin(Execution how) {
    execution = how;
    starts = NONE;
    bailedOut = false;
    executed = 0;
  }

  /**
   * Switches to compiled code where it is wanted and pays.
   *
   * @param interpreted interpreted warp instructions of the current block
   */
  void choose(long interpreted) {
    boolean wanted =
        switch (execution) {
          case INTERPRETED -> false;
          case COMPILED -> true;
          case TIERED -> program.isHot(interpreted);
        };
    if (wanted && !bailedOut) {
      var made = program.compiled(block, async, execution == Execution.COMPILED);
      compiled = compiled == null ? made.bind(block) : compiled;
      starts = made.starts();
    }
  }

  /** Returns the code of the segment that begins at an instruction; null = there is none. */
  @Nullable CompiledCode at(int pc) {
    return compiled != null && starts.get(pc) ? compiled : null;
  }

  /**
   * Executes a segment.
   *
   * @return the instruction at which all threads left it, or {@link CompiledCode#DIVERGED}
   */
  int run(CompiledCode segment, int pc, Gang gang) {
    executed++;
    segment.turnEnded = false;
    segment.bailedOut = false;
    int to = segment.run(pc, gang.first, gang.end);
    if (segment.bailedOut) {
      bailedOut = true;
      starts = NONE;
    }
    return to;
  }

  /** Returns the number of segments executed in the current block. */
  long executed() {
    return executed;
  }
}
