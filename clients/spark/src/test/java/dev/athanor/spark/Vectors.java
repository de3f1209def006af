package dev.athanor.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Vectors for tests and their products, computed without a device. */
final class Vectors {

  static final StructType SCHEMA =
      new StructType()
          .add("id", DataTypes.LongType)
          .add("embedding", DataTypes.createArrayType(DataTypes.FloatType));

  private Vectors() {}

  /** Returns normally distributed vectors. */
  static float[][] random(long seed, int count, int length) {
    var random = new Random(seed);
    var vectors = new float[count][length];
    for (var vector : vectors) {
      for (int i = 0; i < length; i++) {
        vector[i] = (float) random.nextGaussian();
      }
    }
    return vectors;
  }

  /** Returns a dataset of the columns {@code id}, from 0, and {@code embedding}. */
  static Dataset<Row> dataset(SparkSession spark, float[][] vectors, int partitions) {
    var rows = new ArrayList<Row>();
    for (int i = 0; i < vectors.length; i++) {
      rows.add(RowFactory.create((long) i, vectors[i]));
    }
    return spark.createDataFrame(rows, SCHEMA).repartition(partitions);
  }

  /** Returns the vectors of a column by id. */
  static Map<Long, List<Float>> byId(Dataset<Row> rows, String column) {
    var vectors = new TreeMap<Long, List<Float>>();
    for (var row : rows.select("id", column).collectAsList()) {
      vectors.put(row.getLong(0), row.getList(1));
    }
    return vectors;
  }

  /** Returns a dot product: fused multiply-adds in order, from zero. */
  static float dot(float[] a, float[] b) {
    float sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum = Math.fma(a[i], b[i], sum);
    }
    return sum;
  }

  /** Returns the products of vectors with the columns of a matrix, by vector number. */
  static Map<Long, List<Float>> products(float[][] vectors, float[][] columns) {
    var products = new TreeMap<Long, List<Float>>();
    for (int i = 0; i < vectors.length; i++) {
      var product = new ArrayList<Float>();
      for (var column : columns) {
        product.add(dot(vectors[i], column));
      }
      products.put((long) i, product);
    }
    return products;
  }

  /** Returns the matrix with the given columns. */
  static Matrix ofColumns(float[][] columns) {
    var rows = new float[columns[0].length][columns.length];
    for (int i = 0; i < rows.length; i++) {
      for (int j = 0; j < columns.length; j++) {
        rows[i][j] = columns[j][i];
      }
    }
    return Matrix.ofRows(rows);
  }
}
