package dev.athanor.service.model;

import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A call of a model.
 *
 * @param pipeline computes the outputs
 * @param names the model's outputs by the names of the steps' outputs
 */
record ModelCall(Pipeline pipeline, Map<String, String> names) {

  /** Returns a result of the pipeline with the names of the model's outputs. */
  Result named(Result result) {
    var outputs = new LinkedHashMap<String, Result.Output>();
    result
        .outputs()
        .forEach((step, output) -> outputs.put(Objects.requireNonNull(names.get(step)), output));
    return new Result(
        result.device(), result.steps(), outputs, result.timing(), result.batchSize());
  }
}
