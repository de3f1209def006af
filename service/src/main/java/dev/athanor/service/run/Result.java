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
   * Where the time went, in microseconds. Upload, kernel and download are measured by the device.
   *
   * @param prepare planning, and compiling and loading kernels that were not loaded yet
   * @param queue waiting for tensors and a stream
   * @param upload copying inputs to the device
   * @param kernel computing
   * @param download copying outputs back
   * @param total from the call to its end
   */
  public record Timing(
      double prepare, double queue, double upload, double kernel, double download, double total) {}
}
