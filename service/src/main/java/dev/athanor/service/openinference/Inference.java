package dev.athanor.service.openinference;

import dev.athanor.service.run.Result;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The result of an inference.
 *
 * @param model what ran
 * @param result the requested outputs, in the order of the model's description
 * @param parameters the response parameters: times in microseconds, and the kernel that ran
 */
public record Inference(ServedModel model, Result result, Map<String, Object> parameters) {

  static Inference of(ServedModel model, Result result) {
    var timing = result.timing();
    var parameters = new LinkedHashMap<String, Object>();
    parameters.put("kernel", result.kernel());
    parameters.put("prepare_us", tenths(timing.prepare()));
    parameters.put("queue_us", tenths(timing.queue()));
    parameters.put("compute_input_us", tenths(timing.upload()));
    parameters.put("compute_infer_us", tenths(timing.kernel()));
    parameters.put("compute_output_us", tenths(timing.download()));
    parameters.put("total_us", tenths(timing.total()));
    return new Inference(model, result, parameters);
  }

  private static double tenths(double micros) {
    return Math.round(micros * 10) / 10.0;
  }
}
