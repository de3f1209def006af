package dev.athanor.service.openinference;

import dev.athanor.service.run.Result;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The statistics of a model since the service started, as defined by Triton. Requests that are
 * rejected before execution do not count.
 *
 * @param lastInference when the last inference ended, in milliseconds since 1970; 0 if none
 * @param success successful inferences, from request to response
 * @param fail failed inferences
 * @param queue time until execution started
 * @param batches launches by batch size; each is counted with its batch leader
 */
public record ModelStatistics(
    String name,
    String version,
    long lastInference,
    Duration success,
    Duration fail,
    Duration queue,
    Compute compute,
    SortedMap<Integer, Compute> batches) {

  /** A count and a total time. */
  public record Duration(long count, long nanos) {
    static final Duration NONE = new Duration(0, 0);

    Duration plus(double micros) {
      return new Duration(count + 1, nanos + Math.round(micros * 1e3));
    }
  }

  /**
   * The device time of launches.
   *
   * @param input copying to the device
   * @param infer running kernels
   * @param output copying back
   */
  public record Compute(Duration input, Duration infer, Duration output) {
    static final Compute NONE = new Compute(Duration.NONE, Duration.NONE, Duration.NONE);

    Compute plus(Result.Timing timing) {
      return new Compute(
          input.plus(timing.upload()), infer.plus(timing.kernel()), output.plus(timing.download()));
    }
  }

  static ModelStatistics none(ServedModel model) {
    return new ModelStatistics(
        model.name(),
        model.version(),
        0,
        Duration.NONE,
        Duration.NONE,
        Duration.NONE,
        Compute.NONE,
        new TreeMap<>());
  }

  ModelStatistics succeeded(long now, Result result) {
    var timing = result.timing();
    var launches = new TreeMap<>(batches);
    if (result.batchSize() > 0) {
      launches.put(
          result.batchSize(), launches.getOrDefault(result.batchSize(), Compute.NONE).plus(timing));
    }
    return new ModelStatistics(
        name,
        version,
        now,
        success.plus(timing.total()),
        fail,
        queue.plus(
            timing.prepare() + timing.queue()), // Triton has no separate phase for preparation
        compute.plus(timing),
        launches);
  }

  ModelStatistics failed(long now, double micros) {
    return new ModelStatistics(
        name, version, now, success, fail.plus(micros), queue, compute, batches);
  }

  /** Returns the number of successful inferences. */
  public long inferences() {
    return success.count();
  }

  /** Returns the number of launches. */
  public long executions() {
    return batches.values().stream().mapToLong(launches -> launches.infer().count()).sum();
  }
}
