package dev.athanor.service.run;

import dev.athanor.ops.HostTensor;
import dev.athanor.service.tensor.TensorInfo;
import java.util.Map;

/**
 * What a call gave.
 *
 * @param kernel the variant that ran
 * @param outputs in the order of the description
 */
public record Result(String kernel, Map<String, Output> outputs, Timing timing) {

  /** An output. */
  public sealed interface Output {
    /** The elements themselves. */
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
