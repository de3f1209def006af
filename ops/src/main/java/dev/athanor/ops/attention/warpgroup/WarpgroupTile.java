package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.WarpRole;

/**
 * The tiling of a block. For the gradients of keys and values, rows are keys and tiles have
 * queries.
 *
 * @param groups warpgroups that multiply, of {@value #ROWS} queries each: 1 to 3
 * @param keys of a tile, a multiple of 16 up to 256
 * @param stages of keys, and of values, in shared memory
 */
public record WarpgroupTile(int groups, int keys, int stages) {

  /** Queries of a warpgroup, the rows that an instruction multiplies. */
  public static final int ROWS = 64;

  /** Keys of a tile whose scores share registers with many sums and the elements of a mask. */
  static final int FEW_KEYS = 48;

  /** Returns the queries of a block. */
  public int rows() {
    return groups * ROWS;
  }

  /** Returns the threads of a block: a warpgroup copies. */
  public int threads() {
    return (1 + groups) * WarpRole.GROUP;
  }

  /** Returns the registers of a thread before roles divide them. */
  int registers() {
    return (copying() + groups * multiplying()) / (1 + groups);
  }

  /** Returns whether scores, weights, sums and elements of a mask need most registers. */
  private boolean isWide() {
    return keys > 128 || keys == FEW_KEYS;
  }

  /** Returns the registers of a thread that copies. */
  int copying() {
    return switch (groups) {
      case 1 -> 120;
      case 2 -> isWide() ? 56 : 72;
      default -> 32;
    };
  }

  /** Returns the registers of a thread that multiplies. */
  int multiplying() {
    return switch (groups) {
      case 1 -> 240;
      case 2 -> isWide() ? 224 : 216;
      default -> 160;
    };
  }

  @Override
  public String toString() {
    // part of kernel names, so independent of the locale
    return rows() + "x" + keys + "x" + stages;
  }
}
