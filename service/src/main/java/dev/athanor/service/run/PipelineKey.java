package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.service.run.StepsJob.Value;
import dev.athanor.service.tensor.Tenant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * All that a run of steps is but the elements of its tensors. Runs with equal ones do the same work
 * on the same resident tensors, for the same tenant, whose data stays in the memory of a {@link
 * Replay}.
 *
 * @param values by their numbers
 */
record PipelineKey(Tenant tenant, List<Stage> stages, List<Node> values) {

  /**
   * A step. Plans are compared by identity, which is quick and enough: a place has one for each op
   * with its attributes and types until all are planned anew.
   *
   * @param inputs the numbers of values, by the names of the op's description
   * @param outputs the same
   */
  record Stage(Plan plan, Map<String, Integer> inputs, Map<String, Integer> outputs) {
    @Override
    @SuppressWarnings("ReferenceEquality") // see above
    public boolean equals(@Nullable Object other) {
      return other instanceof Stage stage
          && stage.plan == plan
          && stage.inputs.equals(inputs)
          && stage.outputs.equals(outputs);
    }

    @Override
    public int hashCode() {
      return (31 * System.identityHashCode(plan)) + inputs.hashCode();
    }
  }

  /**
   * A value.
   *
   * @param resident where it lies, if it was there before; buffers are equal to themselves only
   * @param lastUse the last step that makes or reads it
   * @param isOutput whether it is wanted after that
   */
  record Node(TensorType type, @Nullable Buffer resident, int lastUse, boolean isOutput) {}

  /** Numbers values in an order that is the same for all that have the same plans and wires. */
  static Map<Value, Integer> numbers(List<StepsJob.Step> steps) {
    var numbers = new LinkedHashMap<Value, Integer>();
    for (var step : steps) {
      for (var values : List.of(step.inputs(), step.outputs())) {
        new TreeMap<>(values).values().forEach(value -> numbers.putIfAbsent(value, numbers.size()));
      }
    }
    return numbers;
  }

  /**
   * What a run that has not begun will do.
   *
   * @param numbers of its values
   */
  static PipelineKey of(Tenant tenant, List<StepsJob.Step> steps, Map<Value, Integer> numbers) {
    var stages = new ArrayList<Stage>();
    for (var step : steps) {
      stages.add(
          new Stage(
              step.plan(), numbers(step.inputs(), numbers), numbers(step.outputs(), numbers)));
    }
    var nodes = new ArrayList<Node>();
    for (var value : numbers.keySet()) {
      var resident = value.present().map(DeviceTensor::buffer).orElse(null);
      nodes.add(new Node(value.type(), resident, value.lastUse(), value.isOutput()));
    }
    return new PipelineKey(tenant, stages, nodes);
  }

  private static Map<String, Integer> numbers(
      Map<String, Value> values, Map<Value, Integer> numbers) {
    var found = new TreeMap<String, Integer>();
    values.forEach((name, value) -> found.put(name, numbers.get(value)));
    return found;
  }

  /** The numbers of what a client sends with each run. */
  List<Integer> uploads() {
    var made = new HashSet<Integer>();
    stages.forEach(stage -> made.addAll(stage.outputs.values()));
    var sent = new ArrayList<Integer>();
    for (int i = 0; i < values.size(); i++) {
      if (values.get(i).resident == null && !made.contains(i)) {
        sent.add(i);
      }
    }
    return sent;
  }

  /** The memory of the resident tensors that it reads. */
  Set<Buffer> residents() {
    var buffers = Collections.<Buffer>newSetFromMap(new IdentityHashMap<>());
    for (var value : values) {
      if (value.resident != null) {
        buffers.add(value.resident);
      }
    }
    return buffers;
  }
}
