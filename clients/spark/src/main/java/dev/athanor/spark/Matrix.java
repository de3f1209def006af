package dev.athanor.spark;

import java.io.Serializable;

/** A row-major matrix of finite floats in host memory, such as weights or a set of queries. */
public final class Matrix implements Serializable {
  private static final long serialVersionUID = 1;

  private final int rows;
  private final int columns;
  private final float[] values;

  private Matrix(int rows, int columns, float[] values) {
    this.rows = rows;
    this.columns = columns;
    this.values = values;
  }

  /**
   * Returns a matrix of row-major values, which are copied.
   *
   * @throws IllegalArgumentException if an extent is below 1, the number of values is not {@code
   *     rows × columns}, or a value is NaN or infinite
   */
  public static Matrix of(int rows, int columns, float... values) {
    if (rows < 1 || columns < 1) {
      throw new IllegalArgumentException(
          "A matrix needs at least 1 row and 1 column, got %d × %d.".formatted(rows, columns));
    }
    if ((long) rows * columns != values.length) {
      throw new IllegalArgumentException(
          "A matrix of %d × %d has %d values, got %d."
              .formatted(rows, columns, (long) rows * columns, values.length));
    }
    for (int i = 0; i < values.length; i++) {
      if (!Float.isFinite(values[i])) {
        throw new IllegalArgumentException(
            "Element [%d, %d] of the matrix is %s; all elements must be finite."
                .formatted(i / columns, i % columns, values[i]));
      }
    }
    return new Matrix(rows, columns, values.clone());
  }

  /**
   * Returns a matrix of rows, which are copied.
   *
   * @throws IllegalArgumentException if there are no rows, their lengths differ, or a value is NaN
   *     or infinite
   */
  public static Matrix ofRows(float[]... rows) {
    int columns = rows.length == 0 ? 0 : rows[0].length;
    var values = new float[Math.multiplyExact(rows.length, columns)];
    for (int i = 0; i < rows.length; i++) {
      if (rows[i].length != columns) {
        throw new IllegalArgumentException(
            "Row %d of the matrix has %d values, but row 0 has %d; all rows must have the same length."
                .formatted(i, rows[i].length, columns));
      }
      System.arraycopy(rows[i], 0, values, i * columns, columns);
    }
    return of(rows.length, columns, values);
  }

  /** Returns the number of rows. */
  public int rows() {
    return rows;
  }

  /** Returns the number of columns. */
  public int columns() {
    return columns;
  }

  /** Returns the row-major values without a copy; they must not be changed. */
  float[] values() {
    return values;
  }
}
