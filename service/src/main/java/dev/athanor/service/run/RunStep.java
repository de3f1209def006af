package dev.athanor.service.run;

import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.Map;

/**
 * One op of a run.
 *
 * @param op the name of the op
 * @param inPlace whether an output may share memory with an input
 * @param dtype the dtype of its first input
 */
record RunStep(
    String op,
    boolean inPlace,
    Plan plan,
    String dtype,
    Map<String, RunValue> inputs,
    Map<String, RunValue> outputs) {

  /**
   * Checks that a tensor which this step may read may also be its output.
   *
   * @param handle the handle of the tensor
   * @param output the type of the output
   * @param field the path of the handle in the request
   */
  void requireInPlace(String handle, TensorType output, String field) {
    inputs.forEach((name, input) -> {
      if (!handle.equals(input.handle())) {
        return;
      }
      if (!inPlace) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, which is also the input \"%s\"; %s cannot run in place, so name another tensor"
                .formatted(field, handle, name, op));
      }
      if (!input.type().equals(output)) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, which is also the input \"%s\" of type %s; to run in place it must be %s like the output"
                .formatted(field, handle, name, input.type(), output));
      }
    });
  }
}
