package com.example;

import dev.athanor.client.Athanor;
import dev.athanor.client.HostTensor;
import java.util.Arrays;
import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Stores vectors under a name and finds those nearest to queries, like a search of embeddings. */
public final class NearestRows {

  private static final int ROWS = 1000;
  private static final int WIDTH = 32;
  private static final int QUERIES = 3;
  private static final int NEAREST = 4;

  private NearestRows() {}

  public static void main(String[] arguments) {
    var url = arguments.length == 0 ? "http://127.0.0.1:8080" : arguments[0];
    var random = new SplittableRandom(1);
    float[] vectors = gaussian(random, ROWS * WIDTH);
    float[] queries = gaussian(random, QUERIES * WIDTH);
    try (var athanor = Athanor.connect(url)) {
      store(athanor, HostTensor.of(vectors, ROWS, WIDTH));

      long[] found = search(athanor, HostTensor.of(queries, QUERIES, WIDTH));

      var vectorsOnDevice = athanor.attach("vectors");
      var rows = athanor.inline().gather(vectorsOnDevice, HostTensor.of(found)).toFloats();
      for (int query = 0; query < QUERIES; query++) {
        int first = query * NEAREST;
        var distances = new double[NEAREST];
        System.out.printf("query %d:%n", query);
        for (int i = 0; i < NEAREST; i++) {
          distances[i] = distance(queries, query, rows, first + i);
          System.out.printf("  row %d at distance %.3f%n", found[first + i], distances[i]);
        }
        check(distances, vectors, queries, query);
      }
      vectorsOnDevice.delete();
      athanor.attach("vectors.bias").delete();
    }
  }

  /** Stores the rows r, and -|r|²/2 of each, under names that any client can use from now on. */
  private static void store(Athanor athanor, HostTensor rows) {
    var vectors = athanor.store("vectors", rows);
    var p = athanor.pipeline();
    var squares = p.reduce(p.mul(vectors, vectors));
    var bias = p.scale(squares, o -> o.factor(-0.5));
    athanor.store("vectors.bias", p.run().values(bias));
  }

  /**
   * Returns the nearest rows of each query, nearest first. As |q - r|² = |q|² - 2(q·r - |r|²/2),
   * they have the largest sums of product and bias.
   */
  private static long[] search(Athanor athanor, HostTensor queries) {
    var vectors = athanor.attach("vectors");
    var bias = athanor.attach("vectors.bias");
    var scores =
        athanor.inline().matmul(queries, vectors, o -> o.transposeB(true).bias(bias)).toFloats();
    return IntStream.range(0, QUERIES)
        .flatMap(query -> largest(Arrays.copyOfRange(scores, query * ROWS, (query + 1) * ROWS)))
        .asLongStream()
        .toArray();
  }

  private static IntStream largest(float[] scores) {
    return IntStream.range(0, scores.length)
        .boxed()
        .sorted(Comparator.comparingDouble(row -> -scores[row]))
        .limit(NEAREST)
        .mapToInt(Integer::intValue);
  }

  /** Compares with the smallest distances of all rows. */
  private static void check(double[] distances, float[] vectors, float[] queries, int query) {
    var exact =
        IntStream.range(0, ROWS)
            .mapToDouble(row -> distance(queries, query, vectors, row))
            .sorted()
            .limit(NEAREST)
            .toArray();
    for (int i = 0; i < NEAREST; i++) {
      if (!(Math.abs(distances[i] - exact[i]) < 1e-4)) {
        throw new AssertionError(
            "distances %s, but the smallest are %s"
                .formatted(Arrays.toString(distances), Arrays.toString(exact)));
      }
    }
  }

  private static double distance(float[] a, int rowOfA, float[] b, int rowOfB) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
      double difference = (double) a[rowOfA * WIDTH + i] - b[rowOfB * WIDTH + i];
      sum += difference * difference;
    }
    return Math.sqrt(sum);
  }

  private static float[] gaussian(SplittableRandom random, int count) {
    var values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }
}
