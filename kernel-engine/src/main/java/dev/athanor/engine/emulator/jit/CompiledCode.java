package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.step.Block;
import java.util.Arrays;

/**
 * The segments of a kernel as JVM code, bound to the registers and the memory of a block. In a
 * segment no thread needs another: the code executes it for one thread after another.
 */
public abstract class CompiledCode {

  /** The result of a segment that threads leave at different instructions. */
  public static final int DIVERGED = -1;

  /** The jumps backward after which a thread yields to others, for which it may be waiting. */
  public static final int TURN = 4096;

  /**
   * By how much a jump backward shortens a thread's turn: 1, but not a constant. With a constant
   * the JIT would take the remaining turn for a loop counter and unroll loops that are too short
   * for it.
   */
  int jumpCost = 1;

  /** The active lanes of each warp, as masks. */
  final int[] active;

  /** The shared memory of the block. */
  final int[] words;

  final Block block;

  /** The instruction at which each lane left the last segment, if they {@link #DIVERGED}. */
  public final int[] exits;

  /**
   * Whether a thread bailed out of a segment before an access that compiled code does not execute,
   * usually because it is undefined. The interpreter continues there and reports the fault.
   */
  public boolean bailedOut;

  /** Whether a thread left the last segment because its turn ended. */
  public boolean turnEnded;

  CompiledCode(Block block) {
    this.active = block.active;
    this.words = block.words;
    this.block = block;
    this.exits = new int[block.scratch.length];
  }

  /**
   * Runs the active threads of the warps from {@code first} to {@code end - 1} through the segment
   * that begins at an instruction.
   *
   * @return the instruction at which all these threads left, or {@link #DIVERGED}
   */
  public abstract int run(int pc, int first, int end);

  /**
   * Records that a thread bailed out. The threads after it have not entered the segment.
   *
   * @param lane the thread
   * @param access the instruction before which it left
   * @param entry the instruction at which the threads enter the segment
   * @param end the first lane that does not execute the segment
   */
  final void bailOut(int lane, int access, int entry, int end) {
    bailedOut = true;
    exits[lane] = access;
    Arrays.fill(exits, lane + 1, end, entry);
  }
}
