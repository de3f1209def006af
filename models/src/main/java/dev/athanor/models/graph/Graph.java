package dev.athanor.models.graph;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A sequence of ops on tensors of known types.
 *
 * @param inputs the types of the inputs by name
 * @param weights the constants that steps read, by name
 * @param steps in an order in which they can run
 * @param outputs where each output of the model is, by name
 */
public record Graph(
    Map<String, TensorType> inputs,
    Map<String, HostTensor> weights,
    List<Step> steps,
    Map<String, Output> outputs) {

  public Graph {
    inputs = inOrder(inputs);
    weights = inOrder(weights);
    steps = List.copyOf(steps);
    outputs = inOrder(outputs);
  }

  /**
   * A tensor that a step reads.
   *
   * @param name of an input, a weight or the output of an earlier step
   * @param shape in which it is read; it has as many elements as the tensor
   */
  public record Source(String name, Shape shape) {

    /**
     * Returns the type that the step reads.
     *
     * @param types of all tensors
     */
    public TensorType type(Map<String, TensorType> types) {
      return new TensorType(Objects.requireNonNull(types.get(name), name).dtype(), shape);
    }
  }

  /**
   * An output of the model.
   *
   * @param step the name of a step's output
   */
  public record Output(String step, TensorType type) {}

  /**
   * One op.
   *
   * @param inputs by input name of the op
   * @param outputs the names given to outputs, by output name of the op
   */
  public record Step(
      String op,
      Map<String, Source> inputs,
      Map<String, Object> attributes,
      Map<String, String> outputs) {
    public Step {
      inputs = inOrder(inputs);
      attributes = inOrder(attributes);
      outputs = inOrder(outputs);
    }
  }

  /** Returns the types of all tensors: inputs, weights and outputs of steps, by name. */
  public Map<String, TensorType> types() {
    var types = new HashMap<>(inputs);
    weights.forEach((name, tensor) -> types.put(name, tensor.type()));
    for (var step : steps) {
      var given = new LinkedHashMap<String, TensorType>();
      step.inputs().forEach((name, source) -> given.put(name, source.type(types)));
      var computed = Ops.outputs(step.op(), given, step.attributes());
      step.outputs()
          .forEach((output, name) -> types.put(name, Objects.requireNonNull(computed.get(output))));
    }
    return types;
  }

  private static <T> Map<String, T> inOrder(Map<String, T> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }
}
