package dev.athanor.spark;

import org.apache.spark.sql.SparkSession;

/**
 * Operations on columns of vectors ({@code array<float>}), as functions for {@code
 * Dataset.transform}.
 *
 * <p>Each task computes on the GPU that Spark's resource scheduling assigned to it, or on the
 * emulator if Spark assigned none. A row's result depends on that row only: it is bit-identical for
 * every partitioning, batch size and number of executors.
 */
public final class AthanorOps {

  private AthanorOps() {}

  /**
   * Broadcasts a matrix to the executors.
   *
   * @return the matrix; close it after the last job that uses it
   */
  public static BroadcastMatrix broadcast(SparkSession spark, Matrix matrix) {
    ExecutorDevice.closeWith(spark.sparkContext());
    return new BroadcastMatrix(spark, matrix);
  }

  /**
   * Multiplies a column of vectors by a matrix.
   *
   * @param column a column of type {@code array<float>}, whose vectors have {@code weights.rows()}
   *     elements
   * @param output the name of the column to add, of type {@code array<float>}, whose vectors have
   *     {@code weights.columns()} elements
   */
  public static MatrixProduct matmul(String column, BroadcastMatrix weights, String output) {
    return new MatrixProduct(column, weights, output);
  }

  /**
   * Finds the {@code k} rows whose vectors are most similar to each query. See {@link TopK}.
   *
   * @param id a column of integers that identifies the rows
   * @param column a column of type {@code array<float>}, whose vectors have {@code
   *     queries.columns()} elements
   * @param queries one query per row
   * @param k from 1 to the number of rows
   * @throws IllegalArgumentException if {@code k} is below 1, or a query is zero and the metric is
   *     {@link Metric#COSINE}
   */
  public static TopK topK(String id, String column, BroadcastMatrix queries, int k, Metric metric) {
    return new TopK(id, column, queries, k, metric);
  }
}
