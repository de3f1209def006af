package dev.athanor.client;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call of an operation by name. The typed methods of {@link Athanor} create such calls. Create
 * one directly to run an operation without a typed method, such as a plugin's.
 *
 * <pre>{@code
 * athanor.run(OpCall.of("clamp").input("x", x).attribute("low", 0.0).output("y")).get("y")
 * }</pre>
 */
public final class OpCall {

  private final String op;
  private final Map<String, Operand> inputs = new LinkedHashMap<>();
  private final Map<String, Object> attributes = new LinkedHashMap<>();
  private final Set<String> outputs = new LinkedHashSet<>();
  private final Map<String, Tensor> into = new LinkedHashMap<>();
  private @Nullable Duration deadline;
  private int priority;
  private Consumer<Timing> timing = measured -> {};
  private @Nullable Consumer<Execution> execution;

  private OpCall(String op) {
    this.op = op;
  }

  /** Starts a call of this operation. */
  public static OpCall of(String op) {
    return new OpCall(op);
  }

  /** Sets an input. */
  public OpCall input(String name, Operand operand) {
    inputs.put(name, operand);
    return this;
  }

  /** Sets a list of inputs: {@code x0}, {@code x1}, … for the list {@code x}. */
  public OpCall input(String list, List<? extends Operand> operands) {
    for (int i = 0; i < operands.size(); i++) {
      input(list + i, operands.get(i));
    }
    return this;
  }

  /** Sets an attribute. */
  public OpCall attribute(String name, boolean value) {
    attributes.put(name, value);
    return this;
  }

  /** Sets an attribute. */
  public OpCall attribute(String name, long value) {
    attributes.put(name, value);
    return this;
  }

  /** Sets an attribute. */
  public OpCall attribute(String name, double value) {
    attributes.put(name, value);
    return this;
  }

  /** Sets an attribute. */
  public OpCall attribute(String name, String value) {
    attributes.put(name, value);
    return this;
  }

  /** Sets an attribute. */
  public OpCall attribute(String name, Choice value) {
    return attribute(name, value.text());
  }

  /** Sets an attribute that is a list of integers. */
  public OpCall attribute(String name, long... values) {
    return attribute(name, Arrays.stream(values).boxed().toList());
  }

  /** Sets an attribute that is a list of numbers. */
  public OpCall attribute(String name, double... values) {
    return attribute(name, Arrays.stream(values).boxed().toList());
  }

  /** Sets an attribute that is a list of integers or numbers. */
  public OpCall attribute(String name, List<? extends Number> values) {
    attributes.put(name, List.copyOf(values));
    return this;
  }

  /**
   * Requests an output. Results on the device have only the requested outputs; results on the host
   * always have all of them.
   */
  public OpCall output(String name) {
    outputs.add(name);
    return this;
  }

  /**
   * Requests the first outputs of a list: {@code y0}, {@code y1}, … for the list {@code y}.
   *
   * @throws IllegalArgumentException if the count is less than 1
   */
  public OpCall output(String list, int count) {
    if (count < 1) {
      throw new IllegalArgumentException(
          "The number of outputs %s0, %1$s1, … must be at least 1, not %d.".formatted(list, count));
    }
    for (int i = 0; i < count; i++) {
      output(list + i);
    }
    return this;
  }

  /** Writes an output into a tensor of its dtype and shape; nothing is allocated. */
  public OpCall into(String name, Tensor tensor) {
    into.put(name, tensor);
    return output(name);
  }

  /** Writes the first outputs of a list into tensors of their dtypes and shapes. */
  public OpCall into(String list, List<Tensor> tensors) {
    for (int i = 0; i < tensors.size(); i++) {
      into(list + i, tensors.get(i));
    }
    return this;
  }

  /** Bounds the time of this call, retries included. */
  public OpCall deadline(Duration limit) {
    deadline = limit;
    return this;
  }

  /** Sets the priority, 1 (first) to 5; 1 and 2 need the scope {@code priority}. */
  public OpCall priority(int value) {
    priority = value;
    return this;
  }

  /** Sets the receiver of the service's timing, which is called before the result is available. */
  public OpCall timing(Consumer<Timing> receiver) {
    timing = receiver;
    return this;
  }

  /** Sets the receiver of the device and kernel, which is called as that of {@link #timing}. */
  public OpCall execution(Consumer<Execution> receiver) {
    execution = receiver;
    return this;
  }

  String op() {
    return op;
  }

  Map<String, Operand> inputs() {
    return inputs;
  }

  Map<String, Object> attributes() {
    return attributes;
  }

  Set<String> outputs() {
    return outputs;
  }

  Map<String, Tensor> into() {
    return into;
  }

  @Nullable Duration deadline() {
    return deadline;
  }

  Consumer<Timing> timing() {
    return timing;
  }

  @Nullable Consumer<Execution> execution() {
    return execution;
  }

  /** Returns the priority; 0 for the service's default. */
  int priority() {
    return priority;
  }
}
