package dev.athanor.engine.layout;

import dev.athanor.engine.layout.Fragment.Coordinate;

/**
 * The fragments of the warp-level matrix instructions (PTX ISA 9.7.14.5). Lane {@code l} is thread
 * {@code l % 4} of group {@code l / 4}.
 */
public final class Fragments {

  /** A of {@code mma.m16n8k16} with 16-bit elements: 8 per lane, two per register. */
  public static final Fragment A_16X16 = a(16, 16, 16);

  /** B of {@code mma.m16n8k16} with 16-bit elements: 4 per lane, two per register. */
  public static final Fragment B_16X8 = b(16, 16);

  /** C and D of {@code mma.m16n8k*} with 32-bit elements: 4 per lane, one per register. */
  public static final Fragment C_16X8 = c(16);

  /** One 8x8 matrix of {@code ldmatrix} with 16-bit elements: 2 per lane, in one register. */
  public static final Fragment MATRIX_8X8 =
      new Fragment("8x8", 8, 8, 2, (lane, i) -> new Coordinate(lane / 4, lane % 4 * 2 + i));

  /** One 8x8 matrix of {@code ldmatrix.trans}. */
  public static final Fragment MATRIX_8X8_TRANSPOSED =
      new Fragment(
          "8x8 transposed", 8, 8, 2, (lane, i) -> new Coordinate(lane % 4 * 2 + i, lane / 4));

  /**
   * Returns A of {@code mma}: a register holds adjacent elements of a row, the four lanes of a
   * group hold a row, and a lane's registers advance along the rows first.
   *
   * @param rows 8 or 16
   * @param columns the depth k
   * @param bits width of an element, at most 64
   */
  public static Fragment a(int rows, int columns, int bits) {
    int packed = packed(bits);
    int high = rows / 8;
    return new Fragment(
        "A %dx%d".formatted(rows, columns),
        rows,
        columns,
        rows * columns / Fragment.LANES,
        (lane, i) ->
            new Coordinate(
                lane / 4 + 8 * (i / packed % high),
                packed * (lane % 4 + 4 * (i / packed / high)) + i % packed));
  }

  /**
   * Returns B of {@code mma}, which has eight columns: a register holds adjacent elements of a
   * column, and the four lanes of a group hold a column.
   *
   * @param rows the depth k
   * @param bits width of an element, at most 64
   */
  public static Fragment b(int rows, int bits) {
    int packed = packed(bits);
    return new Fragment(
        "B %dx8".formatted(rows),
        rows,
        8,
        rows / 4,
        (lane, i) -> new Coordinate(packed * (lane % 4 + 4 * (i / packed)) + i % packed, lane / 4));
  }

  /**
   * Returns C and D of {@code mma}, which have eight columns.
   *
   * @param rows 8 or 16
   */
  public static Fragment c(int rows) {
    return new Fragment(
        "C %dx8".formatted(rows),
        rows,
        8,
        rows / 4,
        (lane, i) -> new Coordinate(lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2));
  }

  /**
   * Returns a warp's rows of D of {@code wgmma} (PTX ISA 9.7.15.5.1): fragments of {@code mma} side
   * by side.
   *
   * @param columns a multiple of 8
   */
  public static Fragment wide(int columns) {
    return new Fragment(
        "D 16x%d".formatted(columns),
        16,
        columns,
        columns / 2,
        (lane, i) ->
            new Coordinate(lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + lane % 4 * 2 + i % 2));
  }

  /**
   * Returns equal tiles that fill a larger matrix: the elements of the first tile, then those of
   * the tile to its right.
   */
  public static Fragment tiled(Fragment tile, int rows, int columns) {
    int across = columns / tile.columns();
    return new Fragment(
        "%dx%d of %s".formatted(rows, columns, tile.name()),
        rows,
        columns,
        rows * columns / Fragment.LANES,
        (lane, i) -> {
          int number = i / tile.elements();
          var at = tile.mapping().at(lane, i % tile.elements());
          return new Coordinate(
              at.row() + number / across * tile.rows(),
              at.column() + number % across * tile.columns());
        });
  }

  /** Returns the transposed matrix: each lane holds the elements with rows and columns swapped. */
  public static Fragment transposed(Fragment of) {
    return new Fragment(
        of.name() + " transposed",
        of.columns(),
        of.rows(),
        of.elements(),
        (lane, i) -> {
          var at = of.mapping().at(lane, i);
          return new Coordinate(at.column(), at.row());
        });
  }

  /** Returns the elements per register; a 64-bit element has its own. */
  private static int packed(int bits) {
    return Math.max(1, 32 / bits);
  }

  private Fragments() {}
}
