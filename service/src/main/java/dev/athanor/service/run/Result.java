package dev.athanor.service.run;

import dev.athanor.ops.HostTensor;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.tensor.TensorInfo;
import java.util.List;
import java.util.Map;

/**
 * The result of a call or a pipeline.
 *
 * @param device the id of the device that ran it
 * @param steps the steps that ran; exactly one for a call
 * @param outputs outputs by name, in the order of the op's description or of the pipeline
 * @param batchSize batch size if this call led the batch, else 0
 */
public record Result(
    String device, List<Step> steps, Map<String, Output> outputs, Timing timing, int batchSize) {

  /**
   * One op that ran.
   *
   * @param kernel the kernel variant that ran
   * @param micros the device time. If the pipeline ran as a graph, only the total is measured; it
   *     is divided in proportion to the last run step by step
   * @param copiedBytes the bytes that it copied although it did not change them
   */
  public record Step(String op, String kernel, double micros, long copiedBytes) {}

  /** Returns the kernel variant of the last step; for a call, the one that ran. */
  public String kernel() {
    return steps.getLast().kernel();
  }

  /** An output. */
  public sealed interface Output {
    /** Elements in host memory, valid while the memory of the request is open. */
    record Inline(HostTensor tensor) implements Output {}

    /** A tensor that stays on the device. */
    record Resident(TensorInfo info) implements Output {}
  }

  /**
   * The time per phase in microseconds. The device measures upload, kernel and download.
   *
   * @param prepare planning, and compiling and loading kernels
   * @param queue waiting for tensors and for a stream
   * @param upload copying inputs to the device
   * @param kernel running kernels
   * @param download copying outputs back
   * @param total from the start of the call to its end
   */
  public record Timing(
      double prepare, double queue, double upload, double kernel, double download, double total) {

    /** Returns the times of a call that shared a run: what is left of its total is queue. */
    public Timing within(double all) {
      double rest = all - prepare - upload - kernel - download;
      return new Timing(prepare, Math.max(rest, 0), upload, kernel, download, all);
    }

    /** Returns the time of a phase. */
    public double micros(Phase phase) {
      return switch (phase) {
        case PREPARE -> prepare;
        case QUEUE -> queue;
        case UPLOAD -> upload;
        case KERNEL -> kernel;
        case DOWNLOAD -> download;
        case TOTAL -> total;
      };
    }
  }
}
