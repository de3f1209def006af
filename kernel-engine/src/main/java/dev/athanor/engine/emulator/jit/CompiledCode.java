package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.step.Block;
import java.util.Arrays;

/**
 * The segments of a kernel in which no thread needs another, as JVM code bound to the registers of
 * a worker. Each takes a thread from where the segment begins to where it leaves it, then the next
 * thread.
 */
public abstract class CompiledCode {

  /** The answer of a segment that threads leave at different places. */
  public static final int SEVERAL = -1;

  /** The jumps backward after which a thread yields to others, for which it may be waiting. */
  public static final int TURN = 4096;

  /**
   * What a jump backward takes from a thread's turn: 1, but the JIT must not know. It would take
   * the count for that of a loop, and unroll loops that are over before that pays.
   */
  int turn = 1;

  final int[] active;
  final int[] words;
  final Block block;

  /** Where each lane left the last segment, if they left it at several places. */
  public final int[] exits;

  /**
   * Whether a thread came to an access that compiled code cannot do, as a rule because it is
   * undefined. The interpreter goes on there, and says what is wrong.
   */
  public boolean departed;

  /** Whether a thread left the last segment because it has jumped backward long enough. */
  public boolean spent;

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
   * @return the instruction at which they all stand then, or {@link #SEVERAL}
   */
  public abstract int run(int pc, int first, int end);

  /**
   * Takes note that a thread stays before an access, and those behind it where they were.
   *
   * @param lane the thread
   * @param at the access
   * @param entry where the segment was entered
   * @param end the lane behind the last
   */
  final void depart(int lane, int at, int entry, int end) {
    departed = true;
    exits[lane] = at;
    Arrays.fill(exits, lane + 1, end, entry);
  }
}
