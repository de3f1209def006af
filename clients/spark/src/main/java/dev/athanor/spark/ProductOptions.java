package dev.athanor.spark;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpException;
import dev.athanor.ops.linear.dense.Matmul;
import java.io.Serializable;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Options of the product of vectors and a matrix.
 *
 * @param bias one row, added to each product; null for none
 * @param activation an activation of the operation {@code matmul}
 * @param transposed whether the matrix has one output per row instead of one per column
 * @param batchRows vectors per launch
 */
record ProductOptions(@Nullable Matrix bias, String activation, boolean transposed, int batchRows)
    implements Serializable {

  static final ProductOptions DEFAULT = new ProductOptions(null, "none", false, 1024);

  ProductOptions {
    if (batchRows < 1) {
      throw new IllegalArgumentException(
          "batchRows must be at least 1, got %d.".formatted(batchRows));
    }
    try {
      attributes(activation, transposed);
    } catch (OpException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private static Attributes attributes(String activation, boolean transposed) {
    return Attributes.of(
        new Matmul().description(), Map.of("activation", activation, "transposeB", transposed));
  }

  /** Returns the attributes of the operation {@code matmul}. */
  Attributes attributes() {
    return attributes(activation, transposed);
  }

  /** Returns the bias, if there is one. */
  Optional<Matrix> optionalBias() {
    return Optional.ofNullable(bias);
  }

  ProductOptions withBias(Matrix row) {
    return new ProductOptions(row, activation, transposed, batchRows);
  }

  ProductOptions withActivation(String name) {
    return new ProductOptions(bias, name, transposed, batchRows);
  }

  ProductOptions withTransposed() {
    return new ProductOptions(bias, activation, true, batchRows);
  }

  ProductOptions withBatchRows(int rows) {
    return new ProductOptions(bias, activation, transposed, rows);
  }
}
