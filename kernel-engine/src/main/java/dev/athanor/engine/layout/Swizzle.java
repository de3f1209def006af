package dev.athanor.engine.layout;

/**
 * How the rows of a matrix in shared memory exchange their chunks of 16 bytes, so that eight rows,
 * read at one chunk as {@code ldmatrix} does, lie in different banks, and no padding is needed:
 * chunk {@code c} of row {@code r} lies at chunk {@code c ^ (r / rowsPerStep & mask) * run} of its
 * row.
 *
 * @param rowsPerStep rows that share the 128 bytes in which the banks begin again
 * @param mask one less than a power of two
 * @param run chunks that stay neighbours, a power of two
 */
public record Swizzle(int rowsPerStep, int mask, int run) {

  /** The bytes of a chunk: what a lane moves at once at most. */
  public static final int CHUNK = 16;

  private static final int BANKS_BYTES = 128;

  /** Every chunk at its place. */
  public static final Swizzle NONE = new Swizzle(1, 0, 1);

  /**
   * The swizzle of rows of a length.
   *
   * @param rowBytes 16, 32 or 64, or a multiple of 128
   * @throws IllegalArgumentException for any other
   */
  public static Swizzle of(int rowBytes) {
    return of(rowBytes, CHUNK);
  }

  /**
   * The swizzle of rows of a length that are accessed at one run of bytes in several rows at once.
   *
   * @param rowBytes 16, 32, 64 or a multiple of 128
   * @param runBytes a power of two, from 16 to {@code rowBytes}
   * @throws IllegalArgumentException for any other
   */
  public static Swizzle of(int rowBytes, int runBytes) {
    if (rowBytes < CHUNK || (BANKS_BYTES % rowBytes != 0 && rowBytes % BANKS_BYTES != 0)) {
      throw new IllegalArgumentException(
          "rows of "
              + rowBytes
              + " bytes cannot be swizzled; their length is 16, 32, 64 or a multiple of 128");
    }
    if (runBytes < CHUNK || runBytes > rowBytes || Integer.bitCount(runBytes) != 1) {
      throw new IllegalArgumentException(
          "runs of %d bytes cannot be swizzled; their length is a power of two from 16 to that of the row, %d"
              .formatted(runBytes, rowBytes));
    }
    return new Swizzle(
        Math.max(1, BANKS_BYTES / rowBytes),
        Math.max(1, Math.min(BANKS_BYTES, rowBytes) / runBytes) - 1,
        runBytes / CHUNK);
  }

  /** Where a chunk of a row lies in it. */
  public int place(int row, int chunk) {
    return chunk ^ (row / rowsPerStep & mask) * run;
  }

  /** After how many rows the exchange begins again. */
  public int period() {
    return rowsPerStep * (mask + 1);
  }
}
