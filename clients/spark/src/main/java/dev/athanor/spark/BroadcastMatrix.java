package dev.athanor.spark;

import java.io.Serializable;
import java.util.UUID;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;

/**
 * A matrix that every executor uploads to its device once, for the first task that needs it.
 *
 * <p>The device memory is freed when no task has used the matrix for {@code
 * spark.athanor.matrix.idle} (10 minutes by default), when the device runs out of memory, and when
 * the executor ends. Closing the matrix removes the host copies from all executors.
 */
public final class BroadcastMatrix implements Serializable, AutoCloseable {
  private static final long serialVersionUID = 1;

  private final String id = UUID.randomUUID().toString();
  private final int rows;
  private final int columns;
  private final Broadcast<Matrix> broadcast;

  BroadcastMatrix(SparkSession spark, Matrix matrix) {
    rows = matrix.rows();
    columns = matrix.columns();
    broadcast = JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(matrix);
  }

  /** Returns the number of rows. */
  public int rows() {
    return rows;
  }

  /** Returns the number of columns. */
  public int columns() {
    return columns;
  }

  /** Returns the key under which devices hold the matrix. */
  String id() {
    return id;
  }

  /** Returns the host copy of this driver or executor. */
  Matrix value() {
    return broadcast.value();
  }

  /** Removes the host copies. Datasets that use the matrix cannot be computed afterwards. */
  @Override
  public void close() {
    broadcast.destroy();
    ExecutorDevice.forget(id);
  }
}
