package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Layout;

/**
 * The layout of a step of {@link Int4Gemv} in shared memory: the words of {@link #DEPTH} rows of K
 * in the layout of global memory, the same part of each row of the left matrix, and the scales and
 * zero points of the groups. Padding and swizzles avoid bank conflicts of reads.
 *
 * @param columns of the weights
 * @param rows of the left matrix
 * @param group depth that shares scales, at most {@link #DEPTH}
 */
record Int4Slot(Packing packing, int columns, int rows, int group) {

  /** The depth of a step. */
  static final int DEPTH = 128;

  /** The depth of one word of each lane with the same columns. */
  static final int DEPTH_OF_LANES = 4 * Int4Layout.WORD;

  /** Words of a column in a step. */
  static final int WORDS = DEPTH / Int4Layout.WORD;

  /** Padding between rows of words in bytes, so that four rows read at once use different banks. */
  private static final int PADDING = 32;

  private static final int ROW_BYTES = DEPTH * 2;
  private static final int CHUNK = 16;

  /** Returns the bytes of weights per step. */
  int weightBytes() {
    return columns * DEPTH / 2;
  }

  /** Returns the adjacent words along K per load of a lane. */
  int wordsAtOnce() {
    return kPacked() ? Math.min(4, group / DEPTH_OF_LANES) : 1;
  }

  /** Returns the groups per step. */
  int groups() {
    return DEPTH / group;
  }

  boolean zeros() {
    return packing instanceof Packing.AlongN along && along.zeros();
  }

  boolean kPacked() {
    return packing instanceof Packing.AlongK;
  }

  boolean awq() {
    return packing instanceof Packing.AlongN along && along.format() == ColumnWeights.Format.AWQ;
  }

  private int paddedWeightBytes() {
    return kPacked() ? weightBytes() : weightBytes() + WORDS * PADDING;
  }

  /**
   * Returns the row pitch of the left matrix in bytes; two rows read at once use different banks.
   */
  private int rowPitch() {
    return ROW_BYTES
        + switch (wordsAtOnce()) {
          case 4 -> 2 * CHUNK;
          case 2 -> CHUNK;
          default -> 4 * CHUNK;
        };
  }

  /**
   * Returns the column in bytes in {@link #left} of a byte of a row; distant lanes are separated by
   * a gap.
   */
  Int leftColumn(Int inRow) {
    return wordsAtOnce() == 4 ? inRow.plus(inRow.div(8 * CHUNK).times(CHUNK)) : inRow;
  }

  private int scalesAt() {
    return paddedWeightBytes() + rows * rowPitch();
  }

  private int zerosAt() {
    return scalesAt() + groups() * columns * packing.scale().bytes();
  }

  /** Returns the size in bytes. */
  int bytes() {
    int end = zerosAt() + (zeros() ? groups() * columns / 2 : 0);
    return Math.ceilDiv(end, CHUNK) * CHUNK;
  }

  /**
   * Returns the words of a slot: {@code [columns, words along K]} for k-packed weights, {@code
   * [words along K, columns]} for GPTQ, {@code [K/8, 8 rows of columns/8 words]} for AWQ.
   *
   * @param element U32, or U8 as the target of copies
   */
  SharedTile weights(SharedTile shared, Int slot, Type element) {
    int words = 4 / element.bytes();
    if (kPacked()) {
      return shared.at(
          slot, element, columns, WORDS * words, Swizzle.of(WORDS * 4, CHUNK * wordsAtOnce()));
    }
    return shared.at(
        slot, element, WORDS, columns * words, (columns * 4 + PADDING) / element.bytes());
  }

  /** Returns the part of the left matrix. */
  SharedTile left(SharedTile shared, Int slot, Type element) {
    return shared.at(
        slot.plus(paddedWeightBytes()),
        element,
        rows,
        rowPitch() / element.bytes(),
        rowPitch() / element.bytes());
  }

  /** Returns the scales, a row for each group. */
  SharedTile scales(SharedTile shared, Int slot, Type element) {
    int bytes = columns * packing.scale().bytes();
    return shared.at(
        slot.plus(scalesAt()), element, groups(), bytes / element.bytes(), bytes / element.bytes());
  }

  /** Returns the zero points, a row for each group. */
  SharedTile zeros(SharedTile shared, Int slot, Type element) {
    int bytes = columns / 2;
    return shared.at(
        slot.plus(zerosAt()), element, groups(), bytes / element.bytes(), bytes / element.bytes());
  }

  /**
   * Returns the row and the column in bytes in {@link #weights} of a byte of a row in global
   * memory.
   *
   * @param row row of the step in global memory: a column of k-packed weights, else a row of words
   */
  Target target(Int row, Int inRow) {
    return awq()
        ? new Target(row.div(8), row.rem(8).times(columns / 2).plus(inRow))
        : new Target(row, inRow);
  }

  record Target(Int row, Int column) {}
}
