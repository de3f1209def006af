package dev.athanor.engine.layout;

import static dev.athanor.engine.layout.Axis.COLUMN;
import static dev.athanor.engine.layout.Axis.ELEMENT;
import static dev.athanor.engine.layout.Axis.LANE;
import static dev.athanor.engine.layout.Axis.ROW;
import static dev.athanor.engine.layout.Fragment.LANES;

import java.util.List;

/** The fragments of the warp-level matrix instructions (PTX ISA 9.7.14.5). */
public final class Fragments {

  /** A of {@code mma.m16n8k16} with 16-bit elements: 8 per lane, two per register. */
  public static final Fragment A_16X16 = a(16, 16, 16);

  /** B of {@code mma.m16n8k16} with 16-bit elements: 4 per lane, two per register. */
  public static final Fragment B_16X8 = b(16, 16);

  /** C and D of {@code mma.m16n8k*} with 32-bit elements: 4 per lane, one per register. */
  public static final Fragment C_16X8 = c(16);

  /**
   * Eight columns of D of {@code wgmma} (PTX ISA 9.7.15.5.1), whose lanes are the 128 threads of a
   * warpgroup.
   */
  public static final LinearLayout D_64X8 = C_16X8.layout().times(LANE, ROW, 4);

  /**
   * The scale factors of A of a block-scaled {@code mma} (PTX ISA 9.7.14.3): each lane holds four
   * bytes of a row, and the two thread pairs of a quad hold the halves of two rows. An instruction
   * reads adjacent columns of this matrix: {@code 4 * thread-id + byte-id} is the first.
   */
  public static final Fragment SCALES_A =
      new Fragment(
          "scales of A",
          new LinearLayout(
              Dimensions.of(ELEMENT, 4).and(LANE, Fragment.LANES),
              Dimensions.of(COLUMN, 8).and(ROW, 16),
              List.of(1, 2, 64, 4, 8, 16, 32)));

  /** The scale factors of B, whose columns are rows here; each lane of a quad holds four bytes. */
  public static final Fragment SCALES_B =
      new Fragment(
          "scales of B",
          LinearLayout.of(ELEMENT, COLUMN, 4).times(LANE, COLUMN, 4).times(LANE, ROW, 8));

  /** One 8x8 matrix of {@code ldmatrix} with 16-bit elements: 2 per lane, in one register. */
  public static final Fragment MATRIX_8X8 = new Fragment("8x8", c(8).layout());

  /** One 8x8 matrix of {@code ldmatrix.trans}. */
  public static final Fragment MATRIX_8X8_TRANSPOSED = transposed(MATRIX_8X8);

  /** Four such matrices below each other, whose elements are pairs of bytes. */
  public static final Fragment BYTE_PAIRS_32X16 =
      new Fragment("32x16 of byte pairs", transposedMatrix(1).times(ELEMENT, ROW, 4));

  /**
   * Returns one matrix of {@code ldmatrix.trans} in units of other elements.
   *
   * @param bytes of an element: 1 or 2
   */
  static LinearLayout transposedMatrix(int bytes) {
    return LinearLayout.of(ELEMENT, COLUMN, 2 / bytes).times(MATRIX_8X8_TRANSPOSED.layout());
  }

  /**
   * Returns A of {@code mma}: a register holds adjacent elements of a row, the four lanes of a
   * group hold a row, and a lane's registers advance along the rows first.
   *
   * @param rows 8 or 16
   * @param columns the depth k
   * @param bits width of an element, at most 64
   */
  public static Fragment a(int rows, int columns, int bits) {
    int packed = Math.max(1, 32 / bits);
    return new Fragment(
        "A %dx%d".formatted(rows, columns),
        LinearLayout.of(ELEMENT, COLUMN, packed)
            .times(LANE, COLUMN, 4)
            .times(LANE, ROW, 8)
            .times(ELEMENT, ROW, rows / 8)
            .times(ELEMENT, COLUMN, columns / (4 * packed)));
  }

  /**
   * Returns B of {@code mma}, which has eight columns: a register holds adjacent elements of a
   * column, and the four lanes of a group hold a column.
   *
   * @param rows the depth k
   * @param bits width of an element, at most 64
   */
  public static Fragment b(int rows, int bits) {
    return new Fragment("B %dx8".formatted(rows), a(8, rows, bits).layout().transposed());
  }

  /**
   * Returns C and D of {@code mma}, which have eight columns.
   *
   * @param rows 8 or 16
   */
  public static Fragment c(int rows) {
    return new Fragment("C %dx8".formatted(rows), a(rows, 8, 16).layout());
  }

  /**
   * Returns a warp's rows of D of {@code wgmma} (PTX ISA 9.7.15.5.1): fragments of {@code mma} side
   * by side.
   *
   * @param columns a multiple of 8
   */
  public static Fragment wide(int columns) {
    return new Fragment("D 16x%d".formatted(columns), tiled(c(16), 16, columns).layout());
  }

  /**
   * Returns equal tiles that fill a larger matrix: the elements of the first tile, then those of
   * the tile to its right.
   */
  public static Fragment tiled(Fragment tile, int rows, int columns) {
    return new Fragment(
        "%dx%d of %s".formatted(rows, columns, tile.name()),
        tile.layout()
            .times(ELEMENT, COLUMN, columns / tile.columns())
            .times(ELEMENT, ROW, rows / tile.rows()));
  }

  /**
   * Returns the words of tensor memory that the lanes of a warp load or store (PTX ISA 9.7.16.2.3).
   *
   * @param shape such as {@code 16x64b}
   * @param repetitions along the columns
   * @throws IllegalArgumentException if there is no such shape
   */
  public static Fragment tensorMemory(String shape, int repetitions) {
    var tile =
        switch (shape) {
          case "32x32b" -> LinearLayout.of(LANE, ROW, 32);
          case "16x64b" ->
              new LinearLayout(
                  Dimensions.of(LANE, LANES),
                  Dimensions.of(COLUMN, 2).and(ROW, 16),
                  List.of(16, 1, 2, 4, 8));
          case "16x128b" ->
              LinearLayout.of(LANE, COLUMN, 4).times(LANE, ROW, 8).times(ELEMENT, ROW, 2);
          case "16x256b" -> c(16).layout();
          default -> throw new IllegalArgumentException("no shape of tensor memory: " + shape);
        };
    return new Fragment(
        "tensor memory %s.x%d".formatted(shape, repetitions),
        tile.times(ELEMENT, COLUMN, repetitions));
  }

  /** Returns the transposed matrix: each lane holds the elements with rows and columns swapped. */
  public static Fragment transposed(Fragment of) {
    return new Fragment(of.name() + " transposed", of.layout().transposed());
  }

  private Fragments() {}
}
