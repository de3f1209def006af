package dev.athanor.engine.emulator;

/**
 * The segments of a kernel in which no thread needs another, as JVM code bound to the registers of
 * a worker. Each takes a thread from where the segment begins to where it leaves it, then the next
 * thread.
 */
abstract class CompiledCode {

  /** The answer of a segment that threads leave at different places. */
  static final int SEVERAL = -1;

  final int[] active;
  final int[] words;
  final Block block;

  /** Where each lane left the last segment, if they left it at several places. */
  final int[] exits;

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
  abstract int run(int pc, int first, int end);
}
