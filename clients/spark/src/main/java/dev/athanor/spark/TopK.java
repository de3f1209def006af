package dev.athanor.spark;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.raise_error;
import static org.apache.spark.sql.functions.row_number;
import static org.apache.spark.sql.functions.when;

import java.util.Set;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.expressions.Window;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractFunction1;

/**
 * An exact search for the {@code k} vectors most similar to each query.
 *
 * <p>The result has the columns {@code query} (the row of the query, from 0), {@code rank} (from
 * 1), {@code id} and {@code score}. Rows with equal scores are ranked by ascending id, so the
 * result is the same for every partitioning.
 *
 * <p>Each task multiplies its vectors by all queries on the device and keeps its best {@code k}
 * rows per query. Only these candidates are shuffled and merged. Fewer than {@code k} rows, null
 * ids, and vectors that are null, of another length, or not finite fail the job, as do zero vectors
 * with {@link Metric#COSINE} and scores beyond the range of f32.
 */
public final class TopK extends AbstractFunction1<Dataset<Row>, Dataset<Row>> {
  private static final Set<DataType> INTEGERS =
      Set.of(DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);

  private static final StructType CANDIDATES =
      new StructType()
          .add("query", DataTypes.IntegerType, false)
          .add("id", DataTypes.LongType, false)
          .add("score", DataTypes.FloatType, false);

  private final String id;
  private final String column;
  private final BroadcastMatrix queries;
  private final int k;
  private final Metric metric;
  private final ProductOptions options;

  TopK(String id, String column, BroadcastMatrix queries, int k, Metric metric) {
    this(id, column, queries, k, metric, ProductOptions.DEFAULT.withTransposed());
    if (k < 1) {
      throw new IllegalArgumentException("k must be at least 1, got %d.".formatted(k));
    }
    // rejects zero queries; the tasks compute the norms themselves
    var _ = metric.norms(queries.value(), "query");
  }

  private TopK(
      String id,
      String column,
      BroadcastMatrix queries,
      int k,
      Metric metric,
      ProductOptions options) {
    this.id = id;
    this.column = column;
    this.queries = queries;
    this.k = k;
    this.metric = metric;
    this.options = options;
  }

  /**
   * Sets the number of rows per launch; 1024 by default. It affects memory and speed, but not
   * results.
   *
   * @throws IllegalArgumentException if it is below 1
   */
  public TopK batchRows(int rows) {
    return new TopK(id, column, queries, k, metric, options.withBatchRows(rows));
  }

  /**
   * Searches a dataset.
   *
   * @throws IllegalArgumentException if a column is missing, the ids are not integers, or the
   *     vectors are not of type {@code array<float>}
   */
  @Override
  public Dataset<Row> apply(Dataset<Row> rows) {
    var schema = rows.schema();
    var type = schema.apply(VectorColumn.index(schema, id)).dataType();
    if (!INTEGERS.contains(type)) {
      throw new IllegalArgumentException(
          "Column \"%s\" is %s, but ids must be integers (tinyint, smallint, int or bigint)."
              .formatted(id, type.simpleString()));
    }
    var vectors =
        VectorColumn.of(
            schema, column, id, queries.columns(), "the number of columns of the queries");
    var projected =
        rows.select(rows.col(quoted(id)).cast(DataTypes.LongType), rows.col(quoted(column)));
    return merge(projected.mapPartitions(search(vectors.at(1, 0)), Encoders.row(CANDIDATES)));
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  private MapPartitionsFunction<Row, Row> search(VectorColumn vectors) {
    var by = queries;
    var count = k;
    var scores = metric;
    var chosen = options;
    return partition ->
        new PartitionSearch(new BatchProduct(partition, vectors, by, chosen), by.value(), scores)
            .best(count);
  }

  /** Ranks the candidates of each query; a query without candidates has a row of nulls. */
  private Dataset<Row> merge(Dataset<Row> candidates) {
    var query = Window.partitionBy("query");
    var found = col("found");
    var tooFew =
        raise_error(
            concat(
                lit("k is %d, but there are only ".formatted(k)),
                found.cast(DataTypes.StringType),
                lit(" rows; k must not exceed the number of rows.")));
    return candidates
        .sparkSession()
        .range(queries.rows())
        .select(col("id").cast(DataTypes.IntegerType).as("query"))
        .join(candidates, "query", "left")
        .withColumn("found", count("id").over(query))
        .withColumn("rank", row_number().over(query.orderBy(col("score").desc(), col("id").asc())))
        .where(when(found.lt(k), tooFew).otherwise(col("rank").leq(k)))
        .select("query", "rank", "id", "score");
  }
}
