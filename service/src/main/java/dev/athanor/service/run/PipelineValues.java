package dev.athanor.service.run;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.StepsJob.Value;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Names;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** The names of a pipeline while it is put together. */
final class PipelineValues {

  private final StepsJob job;
  private final Map<String, Value> inputs = new HashMap<>();
  private final Map<String, Value> made = new LinkedHashMap<>();

  /** Names that no step has read. */
  private final Set<String> unread = new LinkedHashSet<>();

  PipelineValues(StepsJob job, Map<String, Call.Input> given) {
    this.job = job;
    given.forEach((name, input) -> {
      requireName(name, "inputs");
      inputs.put(name, job.input(input, "inputs." + name));
    });
    unread.addAll(given.keySet());
  }

  private static void requireName(String name, String field) {
    if (!Tensors.isLabel(name) || Handles.isHandle(name)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s has the name \"%s\"; a name has 1 to %d printable characters and is no handle"
              .formatted(field, Tensors.excerpt(name), Tensors.LONGEST_LABEL));
    }
  }

  /** What a step reads under a name, or the tensor of a handle or a name of its own. */
  Value read(String source, String field) {
    unread.remove(source);
    if (made.containsKey(source)) {
      return made(source);
    }
    var input = inputs.get(source);
    if (input != null) {
      return input;
    }
    if (Handles.isHandle(source)) {
      return job.resident(source, field);
    }
    if (Names.isName(source)) {
      try {
        return job.resident(source, field);
      } catch (Failure.UnknownName _) {
        throw Failure.UnknownName.ofStep(field, source);
      }
    }
    throw new Failure.Refused(
        Code.MISSING_INPUT,
        field,
        "%s is \"%s\", which is no input of the pipeline, no output of an earlier step, no handle and no name of a stored tensor"
            .formatted(field, Tensors.excerpt(source)));
  }

  /** Names what a step gives. */
  void make(String name, Value value, String field) {
    requireName(name, field);
    if (inputs.containsKey(name) || made.containsKey(name)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s is \"%s\", which names something else already; names are given once"
              .formatted(field, name));
    }
    made.put(name, value);
    unread.add(name);
  }

  Value made(String name) {
    return Objects.requireNonNull(made.get(name));
  }

  /** The outputs that are asked for, or all that nobody reads. */
  Map<String, Target> outputs(Map<String, Target> asked) {
    for (var name : unread) {
      if (inputs.containsKey(name)) {
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            "inputs." + name,
            "inputs.%s is read by no step; leave it out".formatted(name));
      }
    }
    for (var name : asked.keySet()) {
      if (!made.containsKey(name)) {
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            "outputs." + Tensors.excerpt(name),
            "outputs.%s is nothing that a step gives; they give %s"
                .formatted(Tensors.excerpt(name), String.join(", ", made.keySet())));
      }
    }
    if (!asked.isEmpty()) {
      return asked;
    }
    var outputs = new LinkedHashMap<String, Target>();
    unread.forEach(name -> outputs.put(name, Target.INLINE));
    if (outputs.isEmpty()) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "outputs",
          "no step names an output that is not read by another, so nothing would come back");
    }
    return outputs;
  }
}
