package dev.athanor.service.openinference;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Terms;
import dev.athanor.service.tensor.TenantTensors;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Makes calls of requests. */
final class Calls {

  /** Triton's: microseconds that the call may take; 0 is no bound. */
  private static final String TIMEOUT = "timeout";

  /** The same in milliseconds, as the header of the other interface has it. */
  private static final String DEADLINE = "deadline_ms";

  /** Triton's: 1 is the most urgent, 0 is as urgent as usual. */
  private static final String PRIORITY = "priority";

  private Calls() {}

  /**
   * Translates a request.
   *
   * @param tensors of the tenant whose request it is
   */
  static Call of(Op op, InferenceRequest request, TenantTensors tensors, Terms terms) {
    var description = op.description();
    var attributes = new HashMap<>(request.parameters());
    var within = new Terms(terms.tenant(), deadline(attributes, terms.deadline()));
    checkPriority(attributes);
    return new Call(
        op,
        inputs(description, request.inputs(), tensors),
        attributes,
        outputs(description, request.outputs()),
        new Target(
            request.outputs().isEmpty()
                ? new Destination.Inline(request.readable())
                : new Destination.Nowhere(),
            null),
        within);
  }

  private static Map<String, Call.Input> inputs(
      OpDescription op, List<InferenceRequest.Input> given, TenantTensors tensors) {
    var names = op.inputs().stream().map(OpDescription.Input::name).toList();
    var inputs = new HashMap<String, Call.Input>();
    for (var input : given) {
      InferenceRequest.checkName("inputs", input.name(), names, inputs.keySet());
      inputs.put(input.name(), input(input, tensors));
    }
    return inputs;
  }

  private static Call.Input input(InferenceRequest.Input input, TenantTensors tensors) {
    var field = "inputs." + input.name();
    if (input.handle() == null) {
      return new Call.Input.Inline(Objects.requireNonNull(input.data()));
    }
    if (input.data() != null) {
      throw new Failure.Refused(
          Code.INVALID_TENSOR,
          field,
          "%s has a tensor_handle and data; it must have one of them".formatted(field));
    }
    if (input.dtype() != null || input.shape() != null) {
      var type = tensors.describe(input.handle()).type();
      if (input.dtype() != null && input.dtype() != type.dtype()) {
        throw new Failure.Refused(
            Code.UNSUPPORTED_DTYPE,
            field + ".datatype",
            "%s.datatype is %s, but the tensor of its handle is %s"
                .formatted(field, Datatypes.name(input.dtype()), Datatypes.name(type.dtype())));
      }
      if (input.shape() != null && !input.shape().equals(type.shape().extents())) {
        throw new Failure.Refused(
            Code.SHAPE_MISMATCH,
            field + ".shape",
            "%s.shape is %s, but the tensor of its handle has %s"
                .formatted(field, input.shape(), type.shape()));
      }
    }
    return new Call.Input.Resident(input.handle());
  }

  private static Map<String, Target> outputs(
      OpDescription op, List<InferenceRequest.Output> asked) {
    var names = op.outputs().stream().map(OpDescription.Output::name).toList();
    var outputs = new HashMap<String, Target>();
    for (var output : asked) {
      InferenceRequest.checkName("outputs", output.name(), names, outputs.keySet());
      outputs.put(output.name(), new Target(output.destination(), null));
    }
    return outputs;
  }

  /** The nearest of the deadlines that a request has. */
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

  /** All calls are equally urgent so far. */
  private static void checkPriority(Map<String, Object> parameters) {
    whole(parameters, PRIORITY, Integer.MAX_VALUE);
  }

  /** Takes out a parameter that counts something; 0 when it is missing. */
  private static long whole(Map<String, Object> parameters, String name, long greatest) {
    return switch (parameters.remove(name)) {
      case null -> 0;
      case Integer value when value >= 0 -> value;
      case Long value when value >= 0 && value <= greatest -> value;
      // a uint64 may be beyond a long, and then it bounds nothing
      case BigInteger value
          when value.signum() > 0 && value.bitLength() <= 64 && greatest == Long.MAX_VALUE ->
          Long.MAX_VALUE;
      case Object other ->
          throw InferenceRequest.invalid(
              "parameters." + name, other, "must be an integer of at least 0");
    };
  }
}
