package dev.athanor.engine.emulator;

import dev.athanor.engine.device.TensorMap.SwizzleMode;

/**
 * A factor in shared memory as stored by tensor copies: contiguous boxes as wide as the swizzle,
 * row after row.
 *
 * @param start a multiple of 1024
 * @param byDepth whether rows of a box are along K; otherwise the matrix is transposed
 * @param size element size in bytes
 * @param outer rows of A, or columns of B
 */
public record Boxes(
    long start, SwizzleMode swizzle, boolean byDepth, int size, int outer, int depth) {

  private int rows() {
    return byDepth ? outer : depth;
  }

  long bytes() {
    return (long) outer * depth * size;
  }

  /** Returns the address of an element. */
  public long address(int row, int column) {
    int along = (byDepth ? column : row) * size;
    int across = byDepth ? row : column;
    int width = swizzle.width();
    long box = (long) rows() * width;
    return swizzle.place(start + along / width * box + (long) across * width + along % width);
  }

  /** Returns the {@code wgmma} descriptor of the part of K that starts at a column. */
  public long descriptor(int column) {
    int width = swizzle.width();
    long box = (long) rows() * width;
    boolean plain = swizzle == SwizzleMode.NONE;
    long leading;
    long stride;
    long from;
    if (byDepth) {
      leading = plain ? box : 16;
      stride = 8L * width;
      int along = column * size;
      from = start + along / width * box + along % width;
    } else {
      leading = plain ? 8L * width : box;
      stride = plain ? box : 8L * width;
      from = start + (long) column * width;
    }
    long code =
        switch (swizzle) {
          case NONE -> 0;
          case BYTES_128 -> 1;
          case BYTES_64 -> 2;
          case BYTES_32 -> 3;
        };
    return from >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | code << 62;
  }
}
