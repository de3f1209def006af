package dev.athanor.models.graph;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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
  public record Source(String name, Shape shape) {}

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

  private static <T> Map<String, T> inOrder(Map<String, T> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }
}
