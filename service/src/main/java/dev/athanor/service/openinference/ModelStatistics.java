package dev.athanor.service.openinference;

/**
 * What was done for a model since the service started, as Triton counts it. Only inferences that
 * reached the device count, or failed to.
 *
 * @param lastInference when the last one ended, in milliseconds since 1970; 0 before the first
 * @param success from the request to its answer
 * @param fail the same of those that failed
 * @param queue until the device began
 * @param computeInput copying to the device
 * @param computeInfer computing
 * @param computeOutput copying back
 */
public record ModelStatistics(
    String name,
    long lastInference,
    Duration success,
    Duration fail,
    Duration queue,
    Duration computeInput,
    Duration computeInfer,
    Duration computeOutput) {

  /** How many there were, and how long they took together. */
  public record Duration(long count, long nanos) {
    static final Duration NONE = new Duration(0, 0);

    Duration plus(double micros) {
      return new Duration(count + 1, nanos + Math.round(micros * 1e3));
    }
  }

  static ModelStatistics none(String name) {
    return new ModelStatistics(
        name,
        0,
        Duration.NONE,
        Duration.NONE,
        Duration.NONE,
        Duration.NONE,
        Duration.NONE,
        Duration.NONE);
  }

  /** How many inferences were done. */
  public long inferences() {
    return success.count();
  }
}
