package dev.athanor.service.run;

import dev.athanor.ops.Op;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A request to run ops one after the other. What a step gives stays on the device for later steps
 * and is freed once the last of them has read it.
 *
 * @param inputs by names of the client's choice
 * @param steps 1 to {@value #MOST_STEPS} of them
 * @param outputs what to do with what steps gave, by its names; where there are none, all that no
 *     step reads comes back inline
 */
public record Pipeline(
    Map<String, Call.Input> inputs,
    List<Step> steps,
    Map<String, Target> outputs,
    RequestContext terms) {

  public static final int MOST_STEPS = 256;

  public Pipeline {
    inputs = inOrder(inputs);
    steps = List.copyOf(steps);
    outputs = inOrder(outputs);
  }

  /**
   * A run of an op.
   *
   * @param inputs by the names of the op's description: a name that an earlier step gave its output
   *     or the pipeline its input, or a handle
   * @param attributes as they were given
   * @param outputs the names that outputs get, by those of the op's description; no two of a
   *     pipeline may be the same
   */
  public record Step(
      Op op, Map<String, String> inputs, Map<String, ?> attributes, Map<String, String> outputs) {
    public Step {
      inputs = Map.copyOf(inputs);
      attributes = Map.copyOf(attributes);
      outputs = inOrder(outputs);
    }
  }

  private static <T> Map<String, T> inOrder(Map<String, T> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }
}
