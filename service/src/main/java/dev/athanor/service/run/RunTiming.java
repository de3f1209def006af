package dev.athanor.service.run;

import java.util.List;

/**
 * The timing of a run on its stream.
 *
 * @param started when the run started, as {@link System#nanoTime()}
 * @param stepMicros the device time of each step
 * @param batchSize batch size if this run led the batch, else 0
 */
record RunTiming(
    long started,
    double uploadMicros,
    List<Double> stepMicros,
    double downloadMicros,
    int batchSize) {
  double kernelMicros() {
    double sum = 0;
    for (double micros : stepMicros) {
      sum += micros;
    }
    return sum;
  }
}
