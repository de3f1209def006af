package dev.athanor.spark;

import java.io.Serializable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.collection.Seq;

/**
 * A column of vectors of equal length, with an optional column that identifies rows in error
 * messages.
 *
 * @param index index of the vectors' column
 * @param idIndex index of the column that identifies a row; -1 for none
 * @param length required number of elements per vector
 * @param expected description of the required length
 */
record VectorColumn(String name, int index, String idName, int idIndex, int length, String expected)
    implements Serializable {

  /**
   * Finds the column.
   *
   * @param id the name of the column that identifies a row; empty for none
   * @throws IllegalArgumentException if a column is missing or the vectors are not of type {@code
   *     array<float>}
   */
  static VectorColumn of(StructType schema, String column, String id, int length, String expected) {
    int index = index(schema, column);
    var type = schema.apply(index).dataType();
    if (!(type instanceof ArrayType array) || !array.elementType().equals(DataTypes.FloatType)) {
      throw new IllegalArgumentException(
          "Column \"%s\" is %s, but must be array<float>; convert numbers with cast(\"array<float>\")."
              .formatted(column, type.simpleString()));
    }
    return new VectorColumn(
        column, index, id, id.isEmpty() ? -1 : index(schema, id), length, expected);
  }

  /**
   * Returns the index of a column.
   *
   * @throws IllegalArgumentException if the column does not exist
   */
  static int index(StructType schema, String name) {
    int index = Arrays.asList(schema.fieldNames()).indexOf(name);
    if (index < 0) {
      throw new IllegalArgumentException(
          "There is no column \"%s\"; the columns are %s."
              .formatted(name, String.join(", ", schema.fieldNames())));
    }
    return index;
  }

  /** Returns this column at other indices, for example after a projection. */
  VectorColumn at(int newIndex, int newIdIndex) {
    return new VectorColumn(name, newIndex, idName, newIdIndex, length, expected);
  }

  /**
   * Copies a row's vector.
   *
   * @param rowNumber the row's number in its partition, from 0
   * @param offset the first element in {@code target}
   * @throws IllegalArgumentException if the vector or an element is null, the vector has another
   *     length, or an element is NaN or infinite
   */
  void read(Row row, long rowNumber, int partition, MemorySegment target, long offset) {
    if (row.isNullAt(index)) {
      throw invalid("is null", row, rowNumber, partition);
    }
    // getSeq would copy
    Seq<?> vector = row.getAs(index);
    if (vector.length() != length) {
      throw invalid("has %d elements".formatted(vector.length()), row, rowNumber, partition);
    }
    for (int i = 0; i < length; i++) {
      @Nullable Object value = vector.apply(i);
      if (value == null || !Float.isFinite((float) value)) {
        throw invalid("has %s at index %d".formatted(value, i), row, rowNumber, partition);
      }
      target.setAtIndex(ValueLayout.JAVA_FLOAT, offset + i, (float) value);
    }
  }

  private IllegalArgumentException invalid(String problem, Row row, long rowNumber, int partition) {
    return new IllegalArgumentException(
        "Column \"%s\" %s in %s; expected a vector of %d finite floats (%s)."
            .formatted(name, problem, describe(row, rowNumber, partition), length, expected));
  }

  /** Returns a description that identifies a row, such as {@code the row with id = 7}. */
  String describe(Row row, long rowNumber, int partition) {
    return idIndex < 0
        ? "row %d of partition %d, counted from 0".formatted(rowNumber, partition)
        : "the row with %s = %s".formatted(idName, row.get(idIndex));
  }
}
