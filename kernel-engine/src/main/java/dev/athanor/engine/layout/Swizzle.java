package dev.athanor.engine.layout;

import java.util.ArrayList;
import java.util.List;

/**
 * Permutations of the 16-byte chunks in the rows of a matrix in shared memory. They avoid bank
 * conflicts without padding when one chunk of eight rows is read at once, as by {@code ldmatrix}. A
 * swizzle is a layout from the byte in a row and the row to the same: {@code row / rowsPerStep} is
 * XORed to the number of the chunk. It repeats beyond its extents.
 */
public final class Swizzle {

  /** Size of a chunk in bytes: the widest access of a lane. */
  public static final int CHUNK = 16;

  private static final int BANKS_BYTES = 128;

  /** The identity. */
  public static final LinearLayout NONE = rows(CHUNK, 1, List.of());

  /** The swizzles of {@code wgmma} by their numbers in a descriptor (PTX ISA 9.7.15.5.1). */
  public static final List<LinearLayout> BY_DESCRIPTOR = List.of(of(16), of(128), of(64), of(32));

  /**
   * Returns the swizzle for a row length.
   *
   * @param rowBytes 16, 32 or 64, or a multiple of 128
   * @throws IllegalArgumentException for other lengths
   */
  public static LinearLayout of(int rowBytes) {
    return of(rowBytes, CHUNK);
  }

  /**
   * Returns the swizzle for rows in which runs of several chunks are accessed at once.
   *
   * @param rowBytes 16, 32, 64 or a multiple of 128
   * @param runBytes a power of two, from 16 to {@code rowBytes}
   * @throws IllegalArgumentException for other lengths
   */
  public static LinearLayout of(int rowBytes, int runBytes) {
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
    int width = Math.max(Math.min(BANKS_BYTES, rowBytes), runBytes);
    var moved = new ArrayList<Integer>();
    // rows that fit into 128 bytes use different banks anyway
    for (int rows = rowBytes; rows < BANKS_BYTES; rows *= 2) {
      moved.add(0);
    }
    for (int run = runBytes; run < width; run *= 2) {
      moved.add(run);
    }
    return rows(width, 1 << moved.size(), moved);
  }

  /**
   * Returns a layout of rows.
   *
   * @param moved what each bit of the row flips in the byte
   */
  private static LinearLayout rows(int width, int rows, List<Integer> moved) {
    var bases = new ArrayList<>(LinearLayout.of(Axis.BYTE, Axis.BYTE, width).bases());
    for (int bit = 0; bit < moved.size(); bit++) {
      bases.add(width << bit | moved.get(bit));
    }
    var dimensions = Dimensions.of(Axis.BYTE, width).and(Axis.ROW, rows);
    return new LinearLayout(dimensions, dimensions, bases);
  }

  private Swizzle() {}
}
