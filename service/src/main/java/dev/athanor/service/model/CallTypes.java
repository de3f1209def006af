package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.run.Call;
import dev.athanor.service.tensor.TenantTensors;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The types of what a call reads, by the names of inputs. */
public final class CallTypes {

  private CallTypes() {}

  /**
   * Returns the types of inputs.
   *
   * @throws dev.athanor.service.failure.Failure.Refused if a tensor does not exist
   */
  public static Map<String, TensorType> of(Map<String, Call.Input> given, TenantTensors tensors) {
    var types = new LinkedHashMap<String, TensorType>();
    given.forEach((input, from) ->
        types.put(
            input,
            switch (from) {
              case Call.Input.Inline(var tensor) -> tensor.type();
              case Call.Input.Resident(var handle, var view) ->
                  of(handle, view, "inputs.%s.handle".formatted(input), tensors);
            }));
    return types;
  }

  /**
   * Returns the types of the resident tensors that a model reads.
   *
   * @throws dev.athanor.service.failure.Failure.Refused if a tensor does not exist
   */
  static Map<String, TensorType> residents(ModelDefinition definition, TenantTensors tensors) {
    var types = new LinkedHashMap<String, TensorType>();
    definition
        .residents()
        .forEach(
            (input, handle) -> types.put(input, of(handle, null, "weights." + input, tensors)));
    return types;
  }

  private static TensorType of(
      String handle, Call.@Nullable View view, String field, TenantTensors tensors) {
    try (var pin = tensors.pin(handle, field)) {
      return view == null || view.shape() == null
          ? pin.type()
          : new TensorType(pin.type().dtype(), new Shape(view.shape()));
    }
  }
}
