package dev.athanor.service.run;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Names;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Resolves the names of a pipeline's values while the pipeline is prepared. */
final class PipelineValues {

  private final StepsJob job;
  private final Map<String, RunValue> inputs = new HashMap<>();
  private final Map<String, RunValue> produced = new LinkedHashMap<>();

  /** Names that no step has read yet. */
  private final Set<String> unread = new LinkedHashSet<>();

  PipelineValues(StepsJob job, Map<String, Call.Input> given) {
    this.job = job;
    given.forEach((name, input) -> {
      Pipeline.requireName(name, "inputs");
      inputs.put(name, job.inputs().add(input, "inputs." + name));
    });
    unread.addAll(given.keySet());
  }

  /**
   * Resolves a name or a handle that a step reads.
   *
   * @param view what to read of it; null for all of it
   */
  RunValue read(String source, Call.@Nullable View view, String field) {
    return Views.of(read(source, field), view, field);
  }

  private RunValue read(String source, String field) {
    unread.remove(source);
    if (produced.containsKey(source)) {
      return produced(source);
    }
    var input = inputs.get(source);
    if (input != null) {
      return input;
    }
    if (Handles.isHandle(source)) {
      return job.inputs().resident(source, field);
    }
    if (Names.isName(source)) {
      try {
        return job.inputs().resident(source, field);
      } catch (Failure.UnknownName _) {
        throw Failure.UnknownName.ofStep(field, source);
      }
    }
    throw new Failure.Refused(
        Code.MISSING_INPUT,
        field,
        "%s is \"%s\", which is neither a pipeline input, nor an output of an earlier step, nor the handle or name of a stored tensor"
            .formatted(field, Tensors.excerpt(source)));
  }

  /** Defines a name for an output of a step. */
  void define(String name, RunValue value, String field) {
    Pipeline.requireName(name, field);
    if (inputs.containsKey(name) || produced.containsKey(name)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s is \"%s\", which is already defined; names must be unique within the pipeline"
              .formatted(field, name));
    }
    produced.put(name, value);
    unread.add(name);
  }

  RunValue produced(String name) {
    return Objects.requireNonNull(produced.get(name));
  }

  /** Returns the requested outputs, or every output that no step reads if none are requested. */
  Map<String, Target> outputs(Map<String, Target> asked) {
    for (var name : unread) {
      if (inputs.containsKey(name)) {
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            "inputs." + name,
            "inputs.%s is not read by any step; remove it".formatted(name));
      }
    }
    for (var name : asked.keySet()) {
      if (!produced.containsKey(name)) {
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            "outputs." + Tensors.excerpt(name),
            "outputs.%s is not an output of any step; step outputs are: %s"
                .formatted(Tensors.excerpt(name), String.join(", ", produced.keySet())));
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
          "the pipeline has no outputs; name an output in a step or request one in outputs");
    }
    return outputs;
  }
}
