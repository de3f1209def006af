package dev.athanor.service.run;

import dev.athanor.ops.Op;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A request to run a sequence of ops. Intermediate results stay on the device and are freed after
 * their last reader.
 *
 * @param inputs inputs by names that the client chooses
 * @param steps 1 to {@value #MAX_STEPS} steps
 * @param outputs targets by the names of step outputs; if empty, every step output that no step
 *     reads is returned inline
 * @param calls the number of calls that share the run
 */
public record Pipeline(
    Map<String, Call.Input> inputs,
    List<Step> steps,
    Map<String, Target> outputs,
    RequestContext context,
    int calls) {

  /** A limit above any model, since planning memory takes time quadratic in the steps. */
  public static final int MAX_STEPS = 8_192;

  /** Creates a pipeline for one call. */
  public Pipeline(
      Map<String, Call.Input> inputs,
      List<Step> steps,
      Map<String, Target> outputs,
      RequestContext context) {
    this(inputs, steps, outputs, context, 1);
  }

  public Pipeline {
    inputs = inOrder(inputs);
    steps = List.copyOf(steps);
    outputs = inOrder(outputs);
  }

  /** Returns this pipeline for several calls that share its run. */
  public Pipeline of(int several) {
    return new Pipeline(inputs, steps, outputs, context, several);
  }

  /**
   * Checks a name that a client chose.
   *
   * @param field its path in the request
   * @throws Failure.Refused with {@code invalid-attribute}
   */
  public static void requireName(String name, String field) {
    if (!Tensors.isLabel(name) || Handles.isHandle(name)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s has the name \"%s\"; a name must have 1 to %d printable characters and must not look like a handle"
              .formatted(field, Tensors.excerpt(name), Tensors.MAX_LABEL_LENGTH));
    }
  }

  /**
   * One op of the pipeline.
   *
   * @param inputs by input name of the op: the name of an earlier step's output or of a pipeline
   *     input, or a handle
   * @param views by input name: what to read of the input; all of it if absent
   * @param attributes attributes by name, as given in the request
   * @param outputs the names given to outputs, by output name of the op; unique within the pipeline
   */
  public record Step(
      Op op,
      Map<String, String> inputs,
      Map<String, Call.View> views,
      Map<String, ?> attributes,
      Map<String, String> outputs) {

    /** Creates a step that reads its inputs as they are. */
    public Step(
        Op op, Map<String, String> inputs, Map<String, ?> attributes, Map<String, String> outputs) {
      this(op, inputs, Map.of(), attributes, outputs);
    }

    public Step {
      inputs = Map.copyOf(inputs);
      views = Map.copyOf(views);
      attributes = Map.copyOf(attributes);
      outputs = inOrder(outputs);
    }
  }

  private static <T> Map<String, T> inOrder(Map<String, T> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }
}
