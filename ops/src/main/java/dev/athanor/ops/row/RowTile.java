package dev.athanor.ops.row;

/**
 * The team of threads that computes a row, and how the row's vectors are distributed to them: in
 * turn.
 *
 * @param team number of threads: a power of two. Up to a warp, a block has several teams; larger
 *     teams are a block each
 * @param access elements of a vector, which one access moves; each row is aligned to them
 * @param vectors that a thread holds at once
 * @param whole whether the team keeps the whole row in registers and reads it once; else it reads
 *     the row in steps, again for each pass
 */
public record RowTile(int team, int access, int vectors, boolean whole) {

  /** Threads of a block whose teams are warps or parts of one. */
  private static final int LEAST_THREADS = 128;

  /** Returns the number of threads of a block. */
  int threads() {
    return Math.max(team, LEAST_THREADS);
  }

  /** Returns how many rows a block computes at once. */
  public int rows() {
    return threads() / team;
  }

  /** For instance {@code t32_v8x4}, or {@code t512_v4x2_steps} for rows of any length. */
  @Override
  public String toString() {
    return "t" + team + "_v" + access + "x" + vectors + (whole ? "" : "_steps");
  }
}
