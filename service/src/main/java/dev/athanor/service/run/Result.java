package dev.athanor.service.run;

import dev.athanor.ops.HostTensor;
import dev.athanor.service.tensor.TensorInfo;
import java.util.List;
import java.util.Map;

/**
 * What a call or a pipeline gave.
 *
 * @param device on which it ran
 * @param steps what ran; one of a call
 * @param outputs in the order of the op's description, or of the pipeline's
 * @param company how many calls shared the launch, this the first of them; 0 when another was first
 */
public record Result(
    String device, List<Step> steps, Map<String, Output> outputs, Timing timing, int company) {

  /**
   * A run of an op.
   *
   * @param kernel the variant that ran
   * @param micros how long it took on the device; of a pipeline that ran as one graph its share of
   *     the whole, which is measured, in the proportion of the last run step by step
   */
  public record Step(String op, String kernel, double micros) {}

  /** The variant that ran last: that of a call. */
  public String kernel() {
    return steps.getLast().kernel();
  }

  /** An output. */
  public sealed interface Output {
    /** The elements themselves, in the memory of the request: not for longer than that is open. */
    record Inline(HostTensor tensor) implements Output {}

    /** A tensor that stayed on the device. */
    record Resident(TensorInfo info) implements Output {}
  }

  /**
   * Microseconds: waiting for tensors and a stream, copying inputs to the device, computing,
   * copying outputs back, and from the call to its end. The middle three are taken by the device.
   */
  public record Timing(double queue, double upload, double kernel, double download, double total) {}
}
