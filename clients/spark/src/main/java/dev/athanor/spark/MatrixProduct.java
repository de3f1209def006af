package dev.athanor.spark;

import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractFunction1;

/**
 * Adds a column {@code activation(vector · weights + bias)} to a dataset. Immutable: methods return
 * a changed copy.
 *
 * <p>A task collects {@link #batchRows} rows, multiplies them in one launch, and passes them on
 * with their results. The order of rows and the other columns are kept.
 */
public final class MatrixProduct extends AbstractFunction1<Dataset<Row>, Dataset<Row>> {

  private final String column;
  private final BroadcastMatrix weights;
  private final String output;
  private final ProductOptions options;
  private final String id;

  MatrixProduct(String column, BroadcastMatrix weights, String output) {
    this(column, weights, output, ProductOptions.DEFAULT, "");
  }

  private MatrixProduct(
      String column, BroadcastMatrix weights, String output, ProductOptions options, String id) {
    this.column = column;
    this.weights = weights;
    this.output = output;
    this.options = options;
    this.id = id;
  }

  /**
   * Adds a bias to each column of the product.
   *
   * @throws IllegalArgumentException if there are not {@code weights.columns()} values, or one is
   *     NaN or infinite
   */
  public MatrixProduct bias(float... values) {
    if (values.length != weights.columns()) {
      throw new IllegalArgumentException(
          "The bias has %d values, but the weights have %d columns; they must be equal."
              .formatted(values.length, weights.columns()));
    }
    return with(options.withBias(Matrix.of(1, values.length, values)));
  }

  /**
   * Applies a function to each element of the sum.
   *
   * @param name an activation of the operation {@code matmul}, such as {@code relu} or {@code gelu}
   * @throws IllegalArgumentException for any other name
   */
  public MatrixProduct activation(String name) {
    return with(options.withActivation(name));
  }

  /**
   * Sets the number of rows per launch; 1024 by default. It affects memory and speed, but not
   * results.
   *
   * @throws IllegalArgumentException if it is below 1
   */
  public MatrixProduct batchRows(int rows) {
    return with(options.withBatchRows(rows));
  }

  /** Sets the column that identifies a row in error messages. */
  public MatrixProduct id(String idColumn) {
    return new MatrixProduct(column, weights, output, options, idColumn);
  }

  private MatrixProduct with(ProductOptions changed) {
    return new MatrixProduct(column, weights, output, changed, id);
  }

  /**
   * Adds the column.
   *
   * @throws IllegalArgumentException if the vectors' column is missing or not of type {@code
   *     array<float>}, or the output's column exists
   */
  @Override
  public Dataset<Row> apply(Dataset<Row> rows) {
    var schema = rows.schema();
    var vectors =
        VectorColumn.of(schema, column, id, weights.rows(), "the number of rows of the weights");
    for (var name : schema.fieldNames()) {
      if (name.equalsIgnoreCase(output)) {
        throw new IllegalArgumentException(
            "Column \"%s\" exists already; choose another name for the product, or drop the column."
                .formatted(name));
      }
    }
    StructType result =
        schema.add(output, DataTypes.createArrayType(DataTypes.FloatType, false), false);
    var product = weights;
    var chosen = options;
    MapPartitionsFunction<Row, Row> multiply =
        partition -> ProductIterator.of(partition, vectors, product, chosen);
    return rows.mapPartitions(multiply, Encoders.row(result));
  }
}
