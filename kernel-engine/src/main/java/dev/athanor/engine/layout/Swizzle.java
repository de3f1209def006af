package dev.athanor.engine.layout;

/**
 * A permutation of the 16-byte chunks in the rows of a matrix in shared memory. It avoids bank
 * conflicts without padding when one chunk of eight rows is read at once, as by {@code ldmatrix}:
 * chunk {@code c} of row {@code r} is stored at chunk {@code c ^ (r / rowsPerStep & mask) * run}.
 *
 * @param rowsPerStep number of rows in 128 bytes, the width of all banks
 * @param mask one less than a power of two
 * @param run number of chunks that stay adjacent, a power of two
 */
public record Swizzle(int rowsPerStep, int mask, int run) {

  /** Size of a chunk in bytes: the widest access of a lane. */
  public static final int CHUNK = 16;

  private static final int BANKS_BYTES = 128;

  /** The identity. */
  public static final Swizzle NONE = new Swizzle(1, 0, 1);

  /**
   * Returns the swizzle for a row length.
   *
   * @param rowBytes 16, 32 or 64, or a multiple of 128
   * @throws IllegalArgumentException for other lengths
   */
  public static Swizzle of(int rowBytes) {
    return of(rowBytes, CHUNK);
  }

  /**
   * Returns the swizzle for rows in which runs of several chunks are accessed at once.
   *
   * @param rowBytes 16, 32, 64 or a multiple of 128
   * @param runBytes a power of two, from 16 to {@code rowBytes}
   * @throws IllegalArgumentException for other lengths
   */
  public static Swizzle of(int rowBytes, int runBytes) {
    if (rowBytes < CHUNK || (BANKS_BYTES % rowBytes != 0 && rowBytes % BANKS_BYTES != 0)) {
      throw new IllegalArgumentException(
          "rows of "
              + rowBytes
              + " bytes cannot be swizzled; use 16, 32, 64 or a multiple of 128 bytes");
    }
    if (runBytes < CHUNK || runBytes > rowBytes || Integer.bitCount(runBytes) != 1) {
      throw new IllegalArgumentException(
          "runs of %d bytes cannot be swizzled; use a power of two from 16 to the row length %d"
              .formatted(runBytes, rowBytes));
    }
    return new Swizzle(
        Math.max(1, BANKS_BYTES / rowBytes),
        Math.max(1, Math.min(BANKS_BYTES, rowBytes) / runBytes) - 1,
        runBytes / CHUNK);
  }

  /** Returns the position of a chunk in its row. */
  public int place(int row, int chunk) {
    return chunk ^ (row / rowsPerStep & mask) * run;
  }

  /** Returns the number of rows after which the permutation repeats. */
  public int period() {
    return rowsPerStep * (mask + 1);
  }
}
