package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.device.TensorMap.Promotion;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import java.util.Collections;
import java.util.List;

/**
 * A matrix of 16-bit elements in shared memory as copies write it and {@code wgmma} reads it: rows
 * of 128 bytes, and panels of {@value #COLUMNS} columns that follow each other. Panels of f32, with
 * half as many columns, are only stored.
 *
 * @param element f16, bf16 or f32
 * @param rows a multiple of 8
 * @param columns zeros fill the rest of the last panel
 */
public record Panels(Type element, int rows, int columns) {

  /** Columns of a panel. */
  static final int COLUMNS = 64;

  private int columnsOfPanel() {
    return SharedTile.ASYNC_ROW / element.bytes();
  }

  public int count() {
    return Math.ceilDiv(columns, columnsOfPanel());
  }

  private int panelBytes() {
    return rows * SharedTile.ASYNC_ROW;
  }

  public int bytes() {
    return count() * panelBytes();
  }

  /**
   * Returns the tensor whose matrices are copied.
   *
   * @param ofMatrix rows of each matrix
   * @param ofRow elements of each row, a multiple of 8
   * @param matrices their number
   */
  public TensorMap tensor(long ofMatrix, long ofRow, long matrices) {
    return tensor(rows, ofMatrix, ofRow, matrices);
  }

  /**
   * Returns the tensor whose matrices are copied, several rows at a time.
   *
   * @param ofCopy rows of a copy, a multiple of 8
   * @param ofMatrix rows of each matrix
   * @param ofRow elements of each row, a multiple of 8
   * @param matrices their number
   */
  TensorMap tensor(int ofCopy, long ofMatrix, long ofRow, long matrices) {
    long bytes = ofRow * element.bytes();
    return new TensorMap(
        switch (element) {
          case F16 -> Element.F16;
          case BF16 -> Element.BF16;
          default -> Element.F32;
        },
        List.of(ofRow, ofMatrix, matrices),
        List.of(bytes, bytes * ofMatrix),
        List.of(columnsOfPanel(), ofCopy, 1),
        Collections.nCopies(3, 1),
        SwizzleMode.BYTES_128,
        Fill.ZERO,
        Promotion.BYTES_256);
  }

  /**
   * Starts a copy of rows of a matrix.
   *
   * @param to offset of the first row in shared memory
   * @param full the mbarriers and the index of the one at which the bytes of the copy complete
   * @param row the first, in the matrix
   */
  public void load(
      TensorParameter tensor,
      KernelBuilder k,
      SharedTile shared,
      Int to,
      Mbarriers full,
      Int index,
      Int row,
      Int matrix) {
    for (int panel = 0; panel < count(); panel++) {
      tensor.load(
          shared.at(to.plus(panel * panelBytes())),
          full,
          index,
          List.of(k.integer(panel * COLUMNS), row, matrix));
    }
  }

  /** A factor of {@code wgmma}: its descriptor, and how it changes along K. */
  public record Factor(KernelBuilder k, Panels panels, Wide first, boolean kIsRow) {

    /**
     * Returns the descriptor for a step.
     *
     * @param from first index along K, a multiple of 16
     */
    public Wide at(int from) {
      int bytes =
          kIsRow
              ? from * SharedTile.ASYNC_ROW
              : from / COLUMNS * panels.panelBytes() + from % COLUMNS * panels.element.bytes();
      return bytes == 0 ? first : first.plus(k.wide(bytes / Swizzle.CHUNK));
    }
  }

  /**
   * Returns this matrix as a factor.
   *
   * @param offset in shared memory
   * @param kIsRow whether K is the row index
   */
  public Factor factor(KernelBuilder k, SharedTile shared, Int offset, boolean kIsRow) {
    var tile = shared.at(offset, element, rows, COLUMNS);
    return new Factor(k, this, tile.descriptor(kIsRow && count() > 1 ? panelBytes() : 0), kIsRow);
  }
}
