package dev.athanor.ops.row;

/**
 * How a row is spread over threads: its vectors are dealt to a team of threads in turns.
 *
 * @param team threads that compute a row together: a power of two within a warp, several teams to a
 *     block, or several warps, which are a block
 * @param access elements that one access moves, each row being aligned to them
 * @param vectors that a thread holds at once
 * @param whole whether the threads hold the whole row in registers, so that it is read once; else
 *     it is gone through in steps, and read again whenever it is gone through again
 */
public record RowTile(int team, int access, int vectors, boolean whole) {

  /** Threads of a block whose teams are warps or parts of one. */
  private static final int LEAST_THREADS = 128;

  /** The threads of a block. */
  int threads() {
    return Math.max(team, LEAST_THREADS);
  }

  /** The rows that a block computes at once. */
  public int rows() {
    return threads() / team;
  }

  /** For instance {@code t32_v8x4}, or {@code t512_v4x2_steps} for rows of any length. */
  @Override
  public String toString() {
    return "t" + team + "_v" + access + "x" + vectors + (whole ? "" : "_steps");
  }
}
