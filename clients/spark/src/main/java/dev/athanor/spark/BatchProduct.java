package dev.athanor.spark;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Row;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;

/** The rows of a partition, read in batches, and the products of their vectors. */
final class BatchProduct {
  private final Iterator<Row> partition;
  private final VectorColumn vectors;
  private final BroadcastMatrix matrix;
  private final ProductOptions options;
  private final TaskContext task = TaskContext.get();
  private final List<Row> batch = new ArrayList<>();
  private long rowsBefore;
  private @Nullable DeviceProduct product;

  BatchProduct(
      Iterator<Row> partition,
      VectorColumn vectors,
      BroadcastMatrix matrix,
      ProductOptions options) {
    this.partition = partition;
    this.vectors = vectors;
    this.matrix = matrix;
    this.options = options;
  }

  /**
   * Reads the next batch and multiplies it.
   *
   * @return false if there are no more rows; {@link #rows} is empty then
   * @throws IllegalArgumentException if a vector is invalid; the message names its row
   */
  boolean nextBatch() {
    rowsBefore += batch.size();
    batch.clear();
    if (!partition.hasNext()) {
      return false;
    }
    var on = product();
    while (batch.size() < options.batchRows() && partition.hasNext()) {
      var row = partition.next();
      vectors.read(
          row,
          rowsBefore + batch.size(),
          task.partitionId(),
          on.input(),
          (long) batch.size() * vectors.length());
      batch.add(row);
    }
    on.multiply(batch.size());
    return true;
  }

  /** Opens the device with the first batch and closes the product with the task. */
  private DeviceProduct product() {
    if (product == null) {
      var idle = SparkEnv.get().conf().getTimeAsSeconds("spark.athanor.matrix.idle", "10min");
      var opened =
          new DeviceProduct(
              ExecutorDevice.acquire(
                  ExecutorDevice.name(task.resourcesJMap()), Duration.ofSeconds(idle)),
              matrix.id(),
              matrix.rows(),
              matrix.columns(),
              matrix::value,
              options);
      task.addTaskCompletionListener((TaskCompletionListener) _ -> opened.close());
      product = opened;
    }
    return product;
  }

  /** Returns the rows of the batch. */
  List<Row> rows() {
    return batch;
  }

  /** Copies the product of a row of the batch. */
  float[] result(int row) {
    return product().result(row);
  }

  /** Returns the vector of a row of the batch; valid until the next batch. */
  MemorySegment vector(int row) {
    long bytes = (long) vectors.length() * Float.BYTES;
    return product().input().asSlice(row * bytes, bytes);
  }

  /** Returns a description that identifies a row of the batch. */
  String describe(int row) {
    return vectors.describe(batch.get(row), rowsBefore + row, task.partitionId());
  }
}
