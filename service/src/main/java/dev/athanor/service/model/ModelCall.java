package dev.athanor.service.model;

import dev.athanor.models.graph.Graph;
import dev.athanor.ops.TensorType;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.run.Result;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A call of a model.
 *
 * @param pipeline computes the outputs
 * @param outputs where the outputs are, by name
 */
public record ModelCall(Pipeline pipeline, Map<String, Graph.Output> outputs) {

  /** Returns the name of the step's output that is an output of the model. */
  public String step(String output) {
    return Objects.requireNonNull(outputs.get(output)).step();
  }

  /** Returns the type of an output. */
  public TensorType type(String output) {
    return Objects.requireNonNull(outputs.get(output)).type();
  }

  /** Returns a result of the pipeline with the names of the model's outputs. */
  public Result named(Result result) {
    var named = new LinkedHashMap<String, Result.Output>();
    outputs.forEach((name, where) ->
        named.put(name, Objects.requireNonNull(result.outputs().get(where.step()))));
    return new Result(result.device(), result.steps(), named, result.timing(), result.batchSize());
  }
}
