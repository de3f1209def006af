package dev.athanor.ops.row;

/**
 * The team of threads that computes a row. The vectors of the row are distributed to the threads
 * round-robin.
 *
 * @param team number of threads, a power of two. Teams up to a warp share a block; a larger team is
 *     a block
 * @param access elements of a vector, which one access moves; each row is aligned to it
 * @param vectors number of vectors that a thread holds at once
 * @param whole whether the team reads the row once and keeps it in registers; otherwise it reads
 *     the row in steps, once per pass
 */
public record RowTile(int team, int access, int vectors, boolean whole) {

  /** Minimum number of threads per block; teams up to a warp share a block of this size. */
  private static final int LEAST_THREADS = 128;

  /** Returns the number of threads of a block. */
  int threads() {
    return Math.max(team, LEAST_THREADS);
  }

  /** Returns the number of rows that a block computes at once. */
  public int rows() {
    return threads() / team;
  }

  /** Returns a name such as {@code t32_v8x4}, or {@code t512_v4x2_steps} for rows of any length. */
  @Override
  public String toString() {
    return "t" + team + "_v" + access + "x" + vectors + (whole ? "" : "_steps");
  }
}
