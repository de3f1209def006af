package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.WarpRole;

/**
 * The tile of c that a block computes at a time: {@value #COLUMNS} columns of c, which are the rows
 * of {@code wgmma}, and some rows of c.
 *
 * @param rows of c, 64 or 128
 * @param stages in shared memory
 * @param cluster blocks of a cluster, whose tiles have the same rows of c and share those of a
 */
public record WeightTile(int rows, int stages, int cluster) {

  /** Columns of c. */
  public static final int COLUMNS = 128;

  /** Weights along K of a stage, as many elements of a as {@code wgmma} reads from a row. */
  public static final int DEPTH = 64;

  /** Warpgroups that multiply. */
  static final int GROUPS = 2;

  /** Columns of c that an instruction multiplies: those of a warpgroup. */
  static final int OF_GROUP = COLUMNS / GROUPS;

  /** Rows of c in a part that is stored at once. */
  static final int PART = 64;

  /** Bytes of a part of c in shared memory: each row has as many as the swizzle permutes. */
  static final int PART_BYTES = PART * SharedTile.ASYNC_ROW;

  /** Parts of c that a warpgroup holds in shared memory until they are stored. */
  static final int PARTS = 2;

  public WeightTile {
    if (rows != PART && rows != 2 * PART) {
      throw new IllegalArgumentException(
          "a tile of quantized weights has %d or %d rows of c, got %d"
              .formatted(PART, 2 * PART, rows));
    }
  }

  /** Returns the threads of a block: a warpgroup copies. */
  public int threads() {
    return (1 + GROUPS) * WarpRole.GROUP;
  }

  /** Returns the bytes of the rows of a in a stage, which come first. */
  int rowBytes() {
    return rows * SharedTile.ASYNC_ROW;
  }

  @Override
  public String toString() {
    // part of kernel names, so independent of the locale
    return rows + "x" + COLUMNS + "x" + stages + (cluster > 1 ? "_cluster" + cluster : "");
  }
}
