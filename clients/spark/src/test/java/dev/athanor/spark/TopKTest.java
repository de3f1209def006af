package dev.athanor.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(SparkCluster.class)
@Tag(TestTier.THOROUGH_TAG)
class TopKTest {
  private static final float[][] QUERIES = Vectors.random(5, 6, 24);
  private static final float[][] VECTORS = withDuplicates();

  private final SparkSession spark;

  TopKTest(SparkSession spark) {
    this.spark = spark;
  }

  /** Every vector occurs three times, so that scores tie. */
  private static float[][] withDuplicates() {
    var vectors = Vectors.random(4, 150, 24);
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = vectors[i % 50];
    }
    return vectors;
  }

  @ParameterizedTest
  @CsvSource({
    "DOT_PRODUCT, 10, 1, 1024",
    "DOT_PRODUCT, 10, 7, 5",
    "COSINE, 10, 4, 8",
    "DOT_PRODUCT, 150, 3, 32",
  })
  void isTheSameForAllPartitionsAndBatches(Metric metric, int k, int partitions, int batchRows) {
    try (var queries = AthanorOps.broadcast(spark, Matrix.ofRows(QUERIES))) {
      var found =
          Vectors.dataset(spark, VECTORS, partitions)
              .transform(
                  AthanorOps.topK("id", "embedding", queries, k, metric).batchRows(batchRows));

      assertThat(found.orderBy("query", "rank").collectAsList()).isEqualTo(expected(metric, k));
    }
  }

  private static List<Row> expected(Metric metric, int k) {
    var rows = new ArrayList<Row>();
    for (int query = 0; query < QUERIES.length; query++) {
      var q = QUERIES[query];
      var scored = new ArrayList<Row>();
      for (int i = 0; i < VECTORS.length; i++) {
        float dot = Vectors.dot(VECTORS[i], q);
        float score =
            metric == Metric.DOT_PRODUCT ? dot : (float) (dot / (norm(VECTORS[i]) * norm(q)));
        scored.add(RowFactory.create((long) i, score));
      }
      scored.sort(
          Comparator.comparingDouble((Row row) -> -row.getFloat(1))
              .thenComparingLong(row -> row.getLong(0)));
      for (int rank = 1; rank <= k; rank++) {
        var row = scored.get(rank - 1);
        rows.add(RowFactory.create(query, rank, row.getLong(0), row.getFloat(1)));
      }
    }
    return rows;
  }

  private static double norm(float[] vector) {
    double squares = 0;
    for (double value : vector) {
      squares += value * value;
    }
    return Math.sqrt(squares);
  }

  @Test
  void ranksEqualScoresByIdWhateverTheSignOfZero() {
    var vectors = new float[][] {{-1, 0}, {1, 0}, {-2, 0}, {2, 0}};
    try (var queries = AthanorOps.broadcast(spark, Matrix.of(1, 2, 0, 1))) {
      var found =
          Vectors.dataset(spark, vectors, 2)
              .transform(AthanorOps.topK("id", "embedding", queries, 3, Metric.DOT_PRODUCT));

      assertThat(found.orderBy("rank").collectAsList())
          .containsExactly(
              RowFactory.create(0, 1, 0L, 0f),
              RowFactory.create(0, 2, 1L, 0f),
              RowFactory.create(0, 3, 2L, 0f));
    }
  }

  @Test
  void rejectsMoreNeighborsThanRows() {
    try (var queries = AthanorOps.broadcast(spark, Matrix.ofRows(QUERIES))) {
      var topK = AthanorOps.topK("id", "embedding", queries, 151, Metric.COSINE);
      assertThatThrownBy(() -> Vectors.dataset(spark, VECTORS, 3).transform(topK).collectAsList())
          .hasStackTraceContaining(
              "k is 151, but there are only 150 rows; k must not exceed the number of rows.");
      assertThatThrownBy(() ->
              Vectors.dataset(spark, VECTORS, 1).where("id < 0").transform(topK).collectAsList())
          .hasStackTraceContaining("k is 151, but there are only 0 rows;");
    }
  }

  @Test
  void rejectsRowsThatCannotBeRanked() {
    rejects(null, new float[] {1, 1}, "The id is null in row [null,");
    rejects(
        7L,
        new float[] {1},
        "has 1 elements in the row with id = 7; expected a vector of 2 finite floats (the number of columns of the queries).");
    rejects(
        7L,
        new float[] {0, -0f},
        "The vector of the row with id = 7 is zero, and COSINE needs a direction; remove it or use DOT_PRODUCT.");
    rejects(
        7L,
        new float[] {3e38f, 3e38f},
        "The score of the row with id = 7 with query 0 is Infinity, beyond the range of f32; scale the vectors or the queries down.");
  }

  private void rejects(@Nullable Long id, float[] vector, String message) {
    var rows = spark.createDataFrame(List.of(RowFactory.create(id, vector)), Vectors.SCHEMA);
    try (var queries = AthanorOps.broadcast(spark, Matrix.of(1, 2, 1, 1))) {
      assertThatThrownBy(() ->
              rows.transform(AthanorOps.topK("id", "embedding", queries, 1, Metric.COSINE))
                  .collectAsList())
          .hasStackTraceContaining(message);
    }
  }

  @Test
  void rejectsInvalidSearches() {
    var rows =
        spark.createDataFrame(
            List.of(),
            new StructType()
                .add("id", DataTypes.StringType)
                .add("embedding", DataTypes.createArrayType(DataTypes.FloatType)));
    try (var queries = AthanorOps.broadcast(spark, Matrix.of(2, 2, 1, 1, 0, 0))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> AthanorOps.topK("id", "embedding", queries, 0, Metric.DOT_PRODUCT))
          .withMessage("k must be at least 1, got 0.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> AthanorOps.topK("id", "embedding", queries, 1, Metric.COSINE))
          .withMessage(
              "The vector of query 1 is zero, and COSINE needs a direction; remove it or use DOT_PRODUCT.");
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              rows.transform(AthanorOps.topK("id", "embedding", queries, 1, Metric.DOT_PRODUCT)))
          .withMessage(
              "Column \"id\" is string, but ids must be integers (tinyint, smallint, int or bigint).");
    }
  }
}
