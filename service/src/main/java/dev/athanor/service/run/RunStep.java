package dev.athanor.service.run;

import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Layout;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * One op of a run.
 *
 * @param op the name of the op
 * @param mayReplace whether an output may share memory with the input of this name
 * @param dtype the dtype of its first input
 */
record RunStep(
    String op,
    Predicate<String> mayReplace,
    Plan plan,
    String dtype,
    Map<String, RunValue> inputs,
    Map<String, RunValue> outputs) {

  /** Returns whether an output of the same type may share the memory of an input. */
  @SuppressWarnings("ReferenceEquality") // values are equal only if they are the same
  boolean mayReplace(RunValue input) {
    return inputs.entrySet().stream()
        .allMatch(each -> {
          var other = each.getValue();
          return other == input ? mayReplace.test(each.getKey()) : other.base() != input;
        });
  }

  /**
   * Returns the bytes that the step copies although it does not change them: those of inputs that
   * are not dense, and of a tensor that it could not change in place.
   */
  long copiedBytes() {
    return plan.packedBytes()
        + plan.update()
            .filter(update -> !isInPlace(update))
            .map(update -> output(update).type().bytes())
            .orElse(0L);
  }

  /** Returns whether the step updates a copy of its input in this tensor. */
  boolean copies(DeviceTensor tensor) {
    return plan.update()
        .filter(update -> !isInPlace(update))
        .filter(update -> output(update).present().equals(Optional.of(tensor)))
        .isPresent();
  }

  @SuppressWarnings("ReferenceEquality") // values are equal only if they are the same
  private boolean isInPlace(Plan.Update update) {
    var from = Objects.requireNonNull(inputs.get(update.input()));
    var to = output(update);
    return to.within() == from || (to.present().isPresent() && to.present().equals(from.present()));
  }

  private RunValue output(Plan.Update update) {
    return Objects.requireNonNull(outputs.get(update.output()));
  }

  /** Returns the layouts of values that are not dense, by name. */
  static Map<String, Layout> layouts(Map<String, RunValue> values) {
    var layouts = new HashMap<String, Layout>();
    values.forEach((name, value) -> {
      if (value.layout() != null) {
        layouts.put(name, value.layout());
      }
    });
    return layouts;
  }

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
      if (!mayReplace.test(name)) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, which is also the input \"%s\"; %s cannot run in place, so name another tensor"
                .formatted(field, handle, name, op));
      }
      if (!input.isWhole()) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is %s, of which the input \"%s\" is a view; to run in place it must be the whole tensor"
                .formatted(field, handle, name));
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
