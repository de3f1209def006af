package dev.athanor.ops.linear;

import dev.athanor.ops.Arguments;

/**
 * The groups of rows of a left matrix {@code [T, K]}, each with a right matrix of its own. How many
 * rows a group has is known when the kernel runs: the input {@code sizes} counts them, and groups
 * follow each other.
 *
 * @param count number of groups
 * @param rows of the left matrix
 */
public record Groups(int count, int rows) {

  /**
   * The maximum of {@link #rows}: the rows of a warp's groups are added in 32 bits, see {@link
   * GroupParameters}.
   */
  public static final int MOST_ROWS = 1 << 25;

  /** The maximum of {@link #count}. */
  public static final int MOST = 1 << 16;

  /** Returns the number of rows of a group, if they are distributed evenly. */
  public int rowsOfOne() {
    return Math.ceilDiv(rows, Math.max(1, occupied()));
  }

  /** Returns the maximum number of groups that have rows. */
  public int occupied() {
    return Math.min(count, rows);
  }

  /**
   * Returns the maximum number of tiles that the rows of all groups and those after the last group
   * need.
   */
  public long tiles(int rowsOfTile) {
    return rows / rowsOfTile + (long) Math.min(count + 1, rows);
  }

  /**
   * Returns the arguments of {@link GroupParameters}.
   *
   * @param matrix elements of a right matrix
   */
  Arguments arguments(long matrix) {
    return sizes().with("strideB", matrix);
  }

  /** Returns the arguments of {@link GroupSizes}. */
  public Arguments sizes() {
    return Arguments.ofInputs("sizes").with("groups", count);
  }
}
