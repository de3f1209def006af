package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
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
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The cache key of a pipeline: everything except tensor data. Runs with equal keys do the same work
 * on the same resident tensors. The tenant is part of the key because its data remains in the
 * memory of a {@link CapturedPipeline}.
 *
 * @param values all values of the pipeline; steps refer to them by index
 */
record PipelineKey(Tenant tenant, List<Stage> stages, List<Node> values) {

  /** The index of no value. */
  private static final int NONE = -1;

  /**
   * One step. Plans are compared by identity: a device caches one plan per op, attributes and
   * types.
   *
   * @param mayReplace see {@link dev.athanor.ops.Op#mayReplace}; equal for equal plans
   * @param inputs value indices by input name
   * @param outputs value indices by output name
   */
  record Stage(
      Plan plan,
      Predicate<String> mayReplace,
      Map<String, Integer> inputs,
      Map<String, Integer> outputs) {
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
   * One value.
   *
   * @param resident the resident tensor that it is, or that it overwrites, else null
   * @param within the index of the value in whose memory it is, else -1
   * @param offset where it starts in that memory, in bytes
   * @param lastUse the last step that produces or reads it
   * @param isOutput whether the client requested it
   */
  record Node(
      TensorType type,
      @Nullable DeviceTensor resident,
      int within,
      long offset,
      int lastUse,
      boolean isOutput) {}

  /** Numbers values in an order that depends only on the plans and their connections. */
  static Map<RunValue, Integer> numbers(List<RunStep> steps) {
    var numbers = new LinkedHashMap<RunValue, Integer>();
    for (var step : steps) {
      for (var values : List.of(step.inputs(), step.outputs())) {
        new TreeMap<>(values)
            .values()
            .forEach(value -> {
              if (value.base() != null) {
                numbers.putIfAbsent(value.base(), numbers.size());
              }
              numbers.putIfAbsent(value, numbers.size());
            });
      }
    }
    return numbers;
  }

  /**
   * Returns the key of a run.
   *
   * @param numbers the indices of its values
   */
  static PipelineKey of(Tenant tenant, List<RunStep> steps, Map<RunValue, Integer> numbers) {
    var stages = new ArrayList<Stage>();
    for (var step : steps) {
      stages.add(
          new Stage(
              step.plan(),
              step.mayReplace(),
              numbers(step.inputs(), numbers),
              numbers(step.outputs(), numbers)));
    }
    var nodes = new ArrayList<Node>();
    for (var value : numbers.keySet()) {
      nodes.add(
          new Node(
              value.memory(),
              value.base() == null ? value.present().orElse(null) : null,
              numbers.getOrDefault(value.within(), NONE),
              value.offset(),
              value.lastUse(),
              value.isOutput()));
    }
    return new PipelineKey(tenant, stages, nodes);
  }

  private static Map<String, Integer> numbers(
      Map<String, RunValue> values, Map<RunValue, Integer> numbers) {
    var found = new TreeMap<String, Integer>();
    values.forEach((name, value) -> found.put(name, numbers.get(value)));
    return found;
  }

  /** Returns the index of the value in whose memory a value is; its own if it is in no other. */
  int owner(int value) {
    int owner = value;
    while (values.get(owner).within != NONE) {
      owner = values.get(owner).within;
    }
    return owner;
  }

  /** Returns where a value starts in the memory of its owner, in bytes. */
  long offset(int value) {
    long offset = 0;
    for (int at = value; at != NONE; at = values.get(at).within) {
      offset += values.get(at).offset;
    }
    return offset;
  }

  /** Returns the indices of values that each run uploads. */
  List<Integer> uploads() {
    var made = new HashSet<Integer>();
    stages.forEach(stage -> made.addAll(stage.outputs.values()));
    var sent = new ArrayList<Integer>();
    for (int i = 0; i < values.size(); i++) {
      if (values.get(i).resident == null && values.get(i).within == NONE && !made.contains(i)) {
        sent.add(i);
      }
    }
    return sent;
  }

  /** Returns the memory of the resident tensors that the pipeline reads or overwrites. */
  Set<Buffer> residents() {
    var buffers = Collections.<Buffer>newSetFromMap(new IdentityHashMap<>());
    for (var value : values) {
      if (value.resident != null) {
        buffers.add(value.resident.buffer());
      }
    }
    return buffers;
  }
}
