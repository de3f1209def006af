package dev.athanor.service.openinference;

import dev.athanor.service.run.Result;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What was done for a model since the service started, as Triton counts it. Only inferences that
 * reached the device count, or failed to.
 *
 * @param lastInference when the last one ended, in milliseconds since 1970; 0 before the first
 * @param success from the request to its answer
 * @param fail the same of those that failed
 * @param queue until the device began
 * @param batches the launches, by how many inferences each did; one that did several is counted
 *     with the first of them
 */
public record ModelStatistics(
    String name,
    long lastInference,
    Duration success,
    Duration fail,
    Duration queue,
    Compute compute,
    SortedMap<Integer, Compute> batches) {

  /** How many there were, and how long they took together. */
  public record Duration(long count, long nanos) {
    static final Duration NONE = new Duration(0, 0);

    Duration plus(double micros) {
      return new Duration(count + 1, nanos + Math.round(micros * 1e3));
    }
  }

  /**
   * What the device did.
   *
   * @param input copying to the device
   * @param infer computing
   * @param output copying back
   */
  public record Compute(Duration input, Duration infer, Duration output) {
    static final Compute NONE = new Compute(Duration.NONE, Duration.NONE, Duration.NONE);

    Compute plus(Result.Timing timing) {
      return new Compute(
          input.plus(timing.upload()), infer.plus(timing.kernel()), output.plus(timing.download()));
    }
  }

  static ModelStatistics none(String name) {
    return new ModelStatistics(
        name, 0, Duration.NONE, Duration.NONE, Duration.NONE, Compute.NONE, new TreeMap<>());
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
        now,
        success.plus(timing.total()),
        fail,
        queue.plus(timing.prepare() + timing.queue()), // as Triton has no other phase for it
        compute.plus(timing),
        launches);
  }

  ModelStatistics failed(long now, double micros) {
    return new ModelStatistics(name, now, success, fail.plus(micros), queue, compute, batches);
  }

  /** How many inferences were done. */
  public long inferences() {
    return success.count();
  }

  /** How many launches did them. */
  public long executions() {
    return batches.values().stream().mapToLong(launches -> launches.infer().count()).sum();
  }
}
