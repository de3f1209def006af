package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.WarpRole;

/**
 * The tile of c that a block computes at a time.
 *
 * @param m rows: 64, or a multiple of 128
 * @param n columns, a multiple of 64 up to 256
 * @param stages in shared memory
 * @param cluster blocks of a cluster, whose tiles are below each other and share columns of b
 */
public record PersistentTile(int m, int n, int stages, int cluster) {

  /** Rows that an instruction multiplies. */
  public static final int ROWS = 64;

  /** Columns in 128 bytes if elements have 16 bits. */
  public static final int PANEL = 64;

  /** Columns that an instruction multiplies at most. */
  private static final int MOST_COLUMNS = 256;

  /** The maximum number of warpgroups that multiply. */
  private static final int MOST_GROUPS = 2;

  /** Parts of c that a warpgroup holds in shared memory until they are stored. */
  static final int PARTS = 2;

  /** Bytes of a part: as many rows as an instruction multiplies. */
  static final int PART_BYTES = ROWS * SharedTile.ASYNC_ROW;

  public PersistentTile {
    boolean suits = m == ROWS || m % (MOST_GROUPS * ROWS) == 0;
    if (!suits || n % PANEL != 0 || n > MOST_COLUMNS) {
      throw new IllegalArgumentException(
          "a persistent tile has %d rows or a multiple of %d, and a multiple of %d columns up to %d, got %dx%d"
              .formatted(ROWS, MOST_GROUPS * ROWS, PANEL, MOST_COLUMNS, m, n));
    }
  }

  /** Returns the number of warpgroups that multiply. */
  public int groups() {
    return Math.min(MOST_GROUPS, m / ROWS);
  }

  /** Returns the threads of a block: a warpgroup copies. */
  public int threads() {
    return (1 + groups()) * WarpRole.GROUP;
  }

  /** Returns how many times as many rows a warpgroup multiplies as an instruction. */
  int slabs() {
    return m / ROWS / groups();
  }

  /** Returns the rows of the tile of a cluster. */
  public int rowsOfCluster() {
    return m * cluster;
  }

  /** Returns the bytes of a stage of both operands. */
  public int stageBytes() {
    return (m + n) * SharedTile.ASYNC_ROW;
  }

  /** Returns the bytes of a stage that a block copies: of b, blocks of a cluster share them. */
  public double copiedBytes() {
    return (m + (double) n / cluster) * SharedTile.ASYNC_ROW;
  }

  /**
   * Returns the bytes that shared memory moves for a stage, which is written once, while each
   * {@value #ROWS} rows of a read all columns of b.
   */
  public double movedBytes() {
    return (2.0 * m + n * (1 + (double) m / ROWS)) * SharedTile.ASYNC_ROW;
  }

  /** Returns the offset of the parts of c in shared memory. */
  int parts() {
    return stages * stageBytes();
  }

  /** Returns the offset of the mbarriers in shared memory. */
  int mbarriers() {
    return parts() + groups() * PARTS * PART_BYTES;
  }

  /** Returns the dynamic shared memory, in bytes per block. */
  public int sharedBytes() {
    return mbarriers() + 2 * stages * Mbarriers.BYTES;
  }

  @Override
  public String toString() {
    // part of kernel names, so independent of the locale
    return m + "x" + n + "x" + stages + (cluster > 1 ? "_cluster" + cluster : "");
  }
}
