package dev.athanor.service.openinference;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.openinference.ServedModel.Arguments;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TenantTensors;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Converts inference requests into the arguments of models. */
final class Calls {

  /** Triton's timeout in microseconds; 0 for none. */
  private static final String TIMEOUT = "timeout";

  /** The deadline in milliseconds, like the header {@code X-Deadline-Ms}. */
  private static final String DEADLINE = "deadline_ms";

  /** Triton's priority: 1 is the highest, 0 the default. */
  private static final String PRIORITY = "priority";

  /** Triton's sequence id, ignored because models are stateless. */
  private static final String SEQUENCE = "sequence_id";

  /** Flags that are ignored because every call is complete and has exactly one response. */
  private static final List<String> FLAGS =
      List.of("sequence_start", "sequence_end", InferenceRequest.FINAL_RESPONSE_WANTED);

  private Calls() {}

  /**
   * Converts a request.
   *
   * @param tensors the tensors of the request's tenant
   */
  static Arguments of(
      ServedModel model, InferenceRequest request, TenantTensors tensors, RequestContext context) {
    var attributes = new HashMap<>(request.parameters());
    long priority = whole(attributes, PRIORITY, RequestContext.LAST_PRIORITY);
    var prioritized =
        priority == 0 ? context : context.withPriority("parameters." + PRIORITY, (int) priority);
    var within = prioritized.withDeadline(deadline(attributes, context.deadline()));
    dropSequence(attributes);
    checkAttributes(model, attributes);
    return new Arguments(
        inputs(model, request.inputs(), tensors),
        attributes,
        outputs(model, request.outputs()),
        request.outputs().isEmpty()
            ? new Target(new Destination.Inline(request.encodable()), null)
            : null,
        within);
  }

  private static void dropSequence(Map<String, Object> parameters) {
    if (!(parameters.get(SEQUENCE) instanceof String)) {
      whole(parameters, SEQUENCE, Long.MAX_VALUE);
    }
    parameters.remove(SEQUENCE);
    for (var name : FLAGS) {
      InferenceRequest.takeFlag(parameters, name, "parameters");
    }
  }

  private static void checkAttributes(ServedModel model, Map<String, Object> attributes) {
    for (var name : attributes.keySet()) {
      if (!model.attributes().contains(name)) {
        var field = "parameters." + Tensors.excerpt(name);
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            field,
            "%s is unknown; known parameters are %s"
                .formatted(
                    field,
                    Stream.concat(
                            model.attributes().stream(), Stream.of(DEADLINE, PRIORITY, TIMEOUT))
                        .collect(Collectors.joining(", "))));
      }
    }
  }

  private static Map<String, Call.Input> inputs(
      ServedModel model, List<InferenceRequest.Input> given, TenantTensors tensors) {
    var inputs = new HashMap<String, Call.Input>();
    for (var input : given) {
      var name = InferenceRequest.inputName(model, input.name(), inputs.keySet());
      inputs.put(name, input(input, tensors));
    }
    return inputs;
  }

  private static Call.Input input(InferenceRequest.Input input, TenantTensors tensors) {
    return switch (input) {
      case InferenceRequest.Input.Data(_, var tensor) -> new Call.Input.Inline(tensor);
      case InferenceRequest.Input.Handle given -> {
        checkType(given, tensors);
        yield new Call.Input.Resident(given.handle(), given.view());
      }
    };
  }

  /** Checks the dtype in advance, since the type of a tensor never changes. */
  private static void checkType(InferenceRequest.Input.Handle given, TenantTensors tensors) {
    if (given.dtype() == null) {
      return;
    }
    var field = "inputs." + given.name();
    var type = tensors.describe(given.handle()).type();
    if (given.dtype() != type.dtype()) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_DTYPE,
          field + ".datatype",
          "%s.datatype is %s, but the tensor has datatype %s"
              .formatted(field, Datatypes.name(given.dtype()), Datatypes.name(type.dtype())));
    }
  }

  private static Map<String, Target> outputs(
      ServedModel model, List<InferenceRequest.Output> asked) {
    var outputs = new HashMap<String, Target>();
    for (var output : asked) {
      var name = InferenceRequest.outputName(model, output.name(), outputs.keySet());
      outputs.put(name, new Target(output.destination(), null));
    }
    return outputs;
  }

  /** Returns the earliest deadline of a request. */
  private static Deadline deadline(Map<String, Object> parameters, Deadline given) {
    long micros = whole(parameters, TIMEOUT, Long.MAX_VALUE);
    long millis = whole(parameters, DEADLINE, Long.MAX_VALUE);
    var nearest = given;
    for (long bound : new long[] {Math.ceilDiv(micros, 1000), millis}) {
      if (bound > 0) {
        var deadline = Deadline.in(bound);
        if (deadline.remainingNanos() < nearest.remainingNanos()) {
          nearest = deadline;
        }
      }
    }
    return nearest;
  }

  /** Removes and returns a nonnegative integer parameter; 0 if it is absent. */
  private static long whole(Map<String, Object> parameters, String name, long max) {
    return switch (parameters.remove(name)) {
      case null -> 0;
      case Integer value when value >= 0 && value <= max -> value;
      case Long value when value >= 0 && value <= max -> value;
      // a uint64 above the range of a long acts as no limit
      case BigInteger value
          when max == Long.MAX_VALUE && value.signum() > 0 && value.bitLength() <= 64 ->
          max;
      case Object other ->
          throw InferenceRequest.invalid(
              "parameters." + name,
              other,
              max == Long.MAX_VALUE
                  ? "must be an integer of at least 0"
                  : "must be an integer 0 to " + max);
    };
  }
}
