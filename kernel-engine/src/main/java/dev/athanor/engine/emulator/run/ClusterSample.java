package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Dim3;
import java.util.Comparator;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * The clusters of a grid that stand for all of it: a Latin hypercube. In each dimension they are
 * spread evenly from the first to the last, and the dimensions are independent of each other, so
 * that the mean of work that grows with an index, as that of causal attention does, is the mean of
 * the whole grid. The first cluster is always one of them.
 */
final class ClusterSample {

  /** Fractions of the golden ratio and of its analogue in three dimensions (Roberts, 2018). */
  private static final double GOLDEN_RATIO = 0.618033988749895;

  private static final double PLASTIC_NUMBER = 0.754877666246693;

  private final long size;

  /** The numbers of the clusters, ascending; empty = all. */
  private final long[] numbers;

  private ClusterSample(long size, long[] numbers) {
    this.size = size;
    this.numbers = numbers;
  }

  /**
   * Samples a grid.
   *
   * @param shape the blocks of a cluster
   * @param blocks the maximum number of blocks; a cluster is whole
   */
  static ClusterSample of(Dim3 grid, Dim3 shape, long blocks) {
    long all = grid.count() / shape.count();
    long size = Math.min(all, Math.ceilDiv(blocks, shape.count()));
    var clusters = new Dim3(grid.x() / shape.x(), grid.y() / shape.y(), grid.z() / shape.z());
    return new ClusterSample(
        size, size == all ? new long[0] : numbers(clusters, Math.toIntExact(size)));
  }

  private static long[] numbers(Dim3 clusters, int size) {
    int[] y = permutation(size, GOLDEN_RATIO);
    int[] z = permutation(size, PLASTIC_NUMBER);
    var numbers = new TreeSet<Long>();
    for (int i = 0; i < size; i++) {
      long row = at(z[i], size, clusters.z()) * clusters.y() + at(y[i], size, clusters.y());
      long number = row * clusters.x() + at(i, size, clusters.x());
      while (!numbers.add(number)) {
        number = (number + 1) % clusters.count();
      }
    }
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  /** Returns the number of clusters in the sample. */
  long size() {
    return size;
  }

  /**
   * Returns the number of a cluster in the grid.
   *
   * @param i its index in the sample; numbers ascend
   */
  long number(long i) {
    return numbers.length == 0 ? i : numbers[(int) i];
  }

  /** Returns the index of a sample in an extent: 0 first and the last one last. */
  private static long at(int sample, int size, int extent) {
    return size == 1 ? 0 : (2L * sample * (extent - 1) + size - 1) / (2L * (size - 1));
  }

  /** Returns the ranks of the multiples of a fraction, modulo 1. */
  private static int[] permutation(int size, double fraction) {
    var order =
        IntStream.range(0, size)
            .boxed()
            .sorted(Comparator.comparingDouble(i -> i * fraction % 1))
            .toList();
    var ranks = new int[size];
    for (int rank = 0; rank < size; rank++) {
      ranks[order.get(rank)] = rank;
    }
    return ranks;
  }
}
