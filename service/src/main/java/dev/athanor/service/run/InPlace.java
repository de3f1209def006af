package dev.athanor.service.run;

import dev.athanor.service.tensor.Pin;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Chooses the outputs of steps that are computed in the memory of another value: in that of an
 * input that nothing reads afterwards, or directly in the resident tensor that a request writes.
 */
final class InPlace {

  private final List<RunStep> steps;
  private final Outputs outputs;

  /** The input that each output of a step may replace. */
  private final Map<RunValue, RunValue> replaced = new HashMap<>();

  /** The output that replaces each input. */
  private final Map<RunValue, RunValue> replacement = new HashMap<>();

  /** The last step that reads each resident tensor. */
  private final Map<String, Integer> lastReads = new HashMap<>();

  private InPlace(List<RunStep> steps, Outputs outputs) {
    this.steps = steps;
    this.outputs = outputs;
  }

  /**
   * Assigns memory to outputs that are computed in place.
   *
   * @return the first step that overwrites a resident tensor; the number of steps if none does
   */
  static int assign(List<RunStep> steps, Outputs outputs) {
    return new InPlace(steps, outputs).run();
  }

  private int run() {
    for (int i = 0; i < steps.size(); i++) {
      pair(steps.get(i), i);
    }
    int first = steps.size();
    for (int i = steps.size() - 1; i >= 0; i--) {
      for (var output : steps.get(i).outputs().values()) {
        var target = target(output);
        if (target.isPresent() && overwrites(target.get(), output, i)) {
          output.setTensor(target.get().tensor());
          first = i;
        }
      }
    }
    replaced.forEach((output, input) -> {
      if (output.present().isEmpty() && input.handle() == null && input.present().isEmpty()) {
        output.replace(input);
      }
    });
    return first;
  }

  /** Pairs the outputs of a step with inputs that they may replace. */
  private void pair(RunStep step, int index) {
    for (var input : step.inputs().values()) {
      if (input.handle() != null) {
        lastReads.merge(input.handle(), index, Math::max);
      }
    }
    for (var output : step.outputs().values()) {
      step.inputs().values().stream()
          .filter(input -> isReplaceable(step, index, input, output))
          .findFirst()
          .ifPresent(input -> {
            replaced.put(output, input);
            replacement.put(input, output);
          });
    }
  }

  private boolean isReplaceable(RunStep step, int index, RunValue input, RunValue output) {
    return input.lastUse() == index
        && input.base() == null
        && !input.isOutput()
        && !replacement.containsKey(input)
        && input.type().equals(output.type())
        && step.mayReplace(input);
  }

  /** Returns the resident tensor in which a value ends up, by way of outputs that replace it. */
  private Optional<Pin> target(RunValue value) {
    for (RunValue at = value; at != null; at = replacement.get(at)) {
      var target = outputs.target(at);
      if (target.isPresent()) {
        return target;
      }
    }
    return Optional.empty();
  }

  /**
   * Returns whether a step writes directly into a resident tensor: no later step reads its old
   * contents, and the step updates them in place or is the last one.
   */
  private boolean overwrites(Pin target, RunValue output, int index) {
    int lastRead = lastReads.getOrDefault(target.handle(), -1);
    if (lastRead > index) {
      return false;
    }
    if (lastRead == index) {
      var step = steps.get(index);
      return step.inputs().values().stream()
          .filter(input -> target.handle().equals(input.handle()))
          .allMatch(input ->
              input.isWhole() && input.type().equals(output.type()) && step.mayReplace(input));
    }
    return index == steps.size() - 1 || updates(target, output);
  }

  /** Returns whether a value results from in-place updates of a resident tensor. */
  private boolean updates(Pin target, RunValue value) {
    for (RunValue at = value; at != null; at = replaced.get(at)) {
      if (target.handle().equals(at.handle())) {
        return true;
      }
    }
    return false;
  }
}
