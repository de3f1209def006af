package dev.athanor.engine.layout;

/**
 * How the rows of a matrix in shared memory exchange their chunks of 16 bytes, so that eight rows,
 * read at one chunk as {@code ldmatrix} does, lie in different banks, and no padding is needed:
 * chunk {@code c} of row {@code r} lies at chunk {@code c ^ (r / rowsPerStep & mask)} of its row.
 *
 * @param rowsPerStep rows that share the 128 bytes in which the banks begin again
 * @param mask one less than a power of two
 */
public record Swizzle(int rowsPerStep, int mask) {

  /** The bytes of a chunk: what a lane moves at once at most. */
  public static final int CHUNK = 16;

  private static final int BANKS_BYTES = 128;

  /** Every chunk at its place. */
  public static final Swizzle NONE = new Swizzle(1, 0);

  /**
   * The swizzle of rows of a length.
   *
   * @param rowBytes 16, 32 or 64, or a multiple of 128
   * @throws IllegalArgumentException for any other
   */
  public static Swizzle of(int rowBytes) {
    if (rowBytes < CHUNK || (BANKS_BYTES % rowBytes != 0 && rowBytes % BANKS_BYTES != 0)) {
      throw new IllegalArgumentException(
          "rows of "
              + rowBytes
              + " bytes cannot be swizzled; their length is 16, 32, 64 or a multiple of 128");
    }
    return new Swizzle(
        Math.max(1, BANKS_BYTES / rowBytes), Math.min(BANKS_BYTES, rowBytes) / CHUNK - 1);
  }

  /** Where a chunk of a row lies in it. */
  public int place(int row, int chunk) {
    return chunk ^ (row / rowsPerStep & mask);
  }

  /** After how many rows the exchange begins again. */
  public int period() {
    return rowsPerStep * (mask + 1);
  }
}
