package dev.athanor.ops.bench;

import java.util.Arrays;

/**
 * The times of one launch, in microseconds.
 *
 * @param count number of samples
 * @param batch launches per sample; the time of a sample is divided by it
 */
public record Samples(double median, double min, double max, int count, int batch) {

  static Samples of(double[] micros, int batch) {
    var sorted = micros.clone();
    Arrays.sort(sorted);
    int n = sorted.length;
    double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    return new Samples(median, sorted[0], sorted[n - 1], n, batch);
  }
}
