package dev.athanor.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.Devices;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FilterFunction;
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
class MatrixProductTest {
  private static final int WIDTH = 37;
  private static final float[][] VECTORS = Vectors.random(1, 203, WIDTH);
  private static final float[][] COLUMNS = Vectors.random(2, 19, WIDTH);

  private final SparkSession spark;

  MatrixProductTest(SparkSession spark) {
    this.spark = spark;
  }

  @ParameterizedTest
  @CsvSource({"1, 1024", "2, 64", "5, 7", "3, 1"})
  void isTheSameForAllPartitionsAndBatches(int partitions, int batchRows) {
    try (var weights = AthanorOps.broadcast(spark, Vectors.ofColumns(COLUMNS))) {
      var products =
          Vectors.dataset(spark, VECTORS, partitions)
              .transform(AthanorOps.matmul("embedding", weights, "product").batchRows(batchRows));

      assertThat(Vectors.byId(products, "product"))
          .isEqualTo(Vectors.products(VECTORS, COLUMNS))
          .isEqualTo(onOneDevice());
    }
  }

  /** Returns the products that the planner's choice computes in one launch. */
  private static Map<Long, List<Float>> onOneDevice() {
    var matmul = new Matmul();
    var inputs =
        Map.of(
            "a", tensor(VECTORS),
            "b", tensor(COLUMNS));
    try (var device = Devices.open("emulator").device()) {
      var attributes = Attributes.of(matmul.description(), Map.of("transposeB", true));
      var plan = matmul.plan(HostTensor.types(inputs), attributes, device.capability());
      var c =
          Objects.requireNonNull(
              HostRun.of(device, new KernelCache(device), plan, inputs).outputs().get("c"));
      var products = new TreeMap<Long, List<Float>>();
      for (int i = 0; i < VECTORS.length; i++) {
        var product = new ArrayList<Float>();
        for (int j = 0; j < COLUMNS.length; j++) {
          product.add((float) c.get((long) i * COLUMNS.length + j));
        }
        products.put((long) i, product);
      }
      return products;
    }
  }

  private static HostTensor tensor(float[][] rows) {
    return new HostTensor(
        TensorType.of(DType.F32, rows.length, rows[0].length),
        MemorySegment.ofArray(Matrix.ofRows(rows).values()));
  }

  @Test
  void addsBiasAndAppliesActivation() {
    var bias = Vectors.random(3, 1, COLUMNS.length)[0];
    var expected = Vectors.products(VECTORS, COLUMNS);
    expected.replaceAll((_, product) -> {
      var row = new ArrayList<Float>();
      for (int i = 0; i < bias.length; i++) {
        row.add(Math.max(0, product.get(i) + bias[i]));
      }
      return row;
    });
    try (var weights = AthanorOps.broadcast(spark, Vectors.ofColumns(COLUMNS))) {
      var layer = AthanorOps.matmul("embedding", weights, "h").bias(bias).activation("relu");

      assertThat(Vectors.byId(Vectors.dataset(spark, VECTORS, 3).transform(layer), "h"))
          .isEqualTo(expected);
    }
  }

  @Test
  void keepsOtherColumnsAndIsUsableInSql() {
    var schema =
        new StructType()
            .add("name", DataTypes.StringType)
            .add("embedding", DataTypes.createArrayType(DataTypes.FloatType))
            .add("tags", DataTypes.createMapType(DataTypes.StringType, DataTypes.IntegerType));
    var rows =
        spark.createDataFrame(
            List.of(
                RowFactory.create("x", new float[] {1, 2}, Map.of("n", 1)),
                RowFactory.create(null, new float[] {3, 4}, null)),
            schema);
    try (var weights = AthanorOps.broadcast(spark, Matrix.of(2, 1, 10, 1))) {
      rows.transform(AthanorOps.matmul("embedding", weights, "y"))
          .createOrReplaceTempView("products");

      assertThat(
              spark.sql("SELECT name, tags['n'], y[0] FROM products ORDER BY y[0]").collectAsList())
          .containsExactly(RowFactory.create("x", 1, 12f), RowFactory.create(null, null, 34f));
    }
  }

  @Test
  void lostExecutorsAreReplaced() {
    var executors = SparkCluster.executors(spark);
    FilterFunction<Row> lose =
        _ -> {
          if (TaskContext.get().stageAttemptNumber() == 0
              && TaskContext.get().attemptNumber() == 0
              && TaskContext.getPartitionId() == 1) {
            Runtime.getRuntime().halt(1);
          }
          return true;
        };
    try (var weights = AthanorOps.broadcast(spark, Vectors.ofColumns(COLUMNS))) {
      var products =
          Vectors.dataset(spark, VECTORS, 4)
              .transform(AthanorOps.matmul("embedding", weights, "product").batchRows(16))
              .filter(lose);

      assertThat(Vectors.byId(products, "product")).isEqualTo(Vectors.products(VECTORS, COLUMNS));
      assertThat(SparkCluster.executors(spark)).isNotEqualTo(executors);
    }
  }

  @Test
  void rejectsInvalidVectors() {
    rejects(null, "is null");
    rejects(List.of(1f), "has 1 elements");
    rejects(List.of(1f, 2f, 3f), "has 3 elements");
    rejects(Arrays.asList(1f, null), "has null at index 1");
    rejects(List.of(Float.NaN, 2f), "has NaN at index 0");
    rejects(List.of(1f, Float.NEGATIVE_INFINITY), "has -Infinity at index 1");
  }

  private void rejects(@Nullable List<?> vector, String problem) {
    var rows =
        spark.createDataFrame(List.of(RowFactory.create(42L, vector)), Vectors.SCHEMA).coalesce(1);
    try (var weights = AthanorOps.broadcast(spark, Matrix.of(2, 1, 1, 1))) {
      var product = AthanorOps.matmul("embedding", weights, "product");
      assertThatThrownBy(() -> rows.transform(product.id("id")).collectAsList())
          .hasStackTraceContaining(
              "Column \"embedding\" "
                  + problem
                  + " in the row with id = 42; expected a vector of 2 finite floats (the number of rows of the weights).");
    }
  }

  @Test
  void identifiesRowsByNumberWithoutAnIdColumn() {
    var vectors = new float[][] {{1, 2}, {3, 4}, {5, Float.NaN}};
    try (var weights = AthanorOps.broadcast(spark, Matrix.of(2, 1, 1, 1))) {
      var product = AthanorOps.matmul("embedding", weights, "product").batchRows(2);
      assertThatThrownBy(() ->
              Vectors.dataset(spark, vectors, 1)
                  .sortWithinPartitions("id")
                  .transform(product)
                  .collectAsList())
          .hasStackTraceContaining("has NaN at index 1 in row 2 of partition 0, counted from 0;");
    }
  }

  @Test
  void rejectsInvalidColumns() {
    var rows = Vectors.dataset(spark, VECTORS, 1);
    try (var weights = AthanorOps.broadcast(spark, Matrix.of(2, 1, 1, 1))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.transform(AthanorOps.matmul("embeding", weights, "y")))
          .withMessage("There is no column \"embeding\"; the columns are id, embedding.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.transform(AthanorOps.matmul("id", weights, "y")))
          .withMessage(
              "Column \"id\" is bigint, but must be array<float>; convert numbers with cast(\"array<float>\").");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.transform(AthanorOps.matmul("embedding", weights, "ID")))
          .withMessage(
              "Column \"id\" exists already; choose another name for the product, or drop the column.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.transform(AthanorOps.matmul("embedding", weights, "y").id("key")))
          .withMessage("There is no column \"key\"; the columns are id, embedding.");
    }
  }

  @Test
  void rejectsInvalidOptions() {
    try (var weights = AthanorOps.broadcast(spark, Matrix.of(2, 1, 1, 1))) {
      var product = AthanorOps.matmul("embedding", weights, "y");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> product.batchRows(0))
          .withMessage("batchRows must be at least 1, got 0.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> product.bias(1, 2))
          .withMessage(
              "The bias has 2 values, but the weights have 1 columns; they must be equal.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> product.activation("reluu"))
          .withMessageStartingWith("attribute \"activation\" must be one of none, ")
          .withMessageEndingWith("got \"reluu\"");
    }
  }
}
