package dev.athanor.service.grpc;

import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.PipelineStep;
import dev.athanor.api.v1.RunPipelineRequest;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.View;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.OpNames;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.stream.RequestContext;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Converts run requests from messages. */
final class RunMessages {

  private RunMessages() {}

  /**
   * Returns the op with a name.
   *
   * @param field the path of the name in the request
   * @throws Failure.Refused with {@code unknown-op}
   */
  static Op find(Catalogue catalogue, String name, String field) {
    return catalogue
        .find(name)
        .orElseThrow(() ->
            new Failure.Refused(
                Code.UNKNOWN_OP,
                field,
                "Unknown op \"%s\". athanor.v1.Ops/List lists all ops."
                    .formatted(Tensors.excerpt(name))));
  }

  static Call call(Catalogue catalogue, RunRequest request, RequestContext context) {
    var op = find(catalogue, request.getOp(), "op");
    var description = op.description();
    checkNames("inputs", request.getInputsMap(), description::input, OpNames.inputs(description));
    checkNames(
        "outputs", request.getOutputsMap(), description::output, OpNames.outputs(description));
    checkNames(
        "attributes",
        request.getAttributesMap(),
        description::attribute,
        OpNames.attributes(description));
    return new Call(
        op,
        inputs(request.getInputsMap()),
        attributes(request.getAttributesMap(), "attributes."),
        outputs(request.getOutputsMap()),
        context);
  }

  private static void checkNames(
      String path, Map<String, ?> given, Function<String, Optional<?>> find, List<String> known) {
    for (var name : given.keySet()) {
      if (find.apply(name).isEmpty()) {
        throw Json.unknown(path, name, known);
      }
    }
  }

  static Pipeline pipeline(
      Catalogue catalogue, RunPipelineRequest request, RequestContext context) {
    if (request.getStepsCount() > Pipeline.MAX_STEPS) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "steps",
          "steps has %d entries; a pipeline has 1 to %d"
              .formatted(request.getStepsCount(), Pipeline.MAX_STEPS));
    }
    var steps = new ArrayList<Pipeline.Step>();
    for (var step : request.getStepsList()) {
      int index = steps.size();
      try {
        steps.add(step(catalogue, step, "steps[" + index + "]."));
      } catch (Failure e) {
        throw e.in(new Failure.Step(index, null));
      }
    }
    return new Pipeline(
        inputs(request.getInputsMap()), steps, outputs(request.getOutputsMap()), context);
  }

  private static Pipeline.Step step(Catalogue catalogue, PipelineStep step, String path) {
    return new Pipeline.Step(
        find(catalogue, step.getOp(), path + "op"),
        step.getInputsMap(),
        views(step.getViewsMap()),
        attributes(step.getAttributesMap(), path + "attributes."),
        step.getOutputsMap());
  }

  static Map<String, Call.Input> inputs(Map<String, InputTensor> given) {
    var inputs = new LinkedHashMap<String, Call.Input>();
    given.forEach(
        (name, input) -> inputs.put(name, input(input, "inputs." + Tensors.excerpt(name))));
    return inputs;
  }

  private static Call.Input input(InputTensor input, String field) {
    return switch (input.getSourceCase()) {
      case INLINE -> {
        var extra =
            input.getShapeCount() > 0
                ? "shape"
                : input.hasOffset() ? "offset" : input.getStridesCount() > 0 ? "strides" : null;
        if (extra != null) {
          throw new Failure.Refused(
              Code.INVALID_TENSOR,
              field + "." + extra,
              "%s.%s is given, but inline has its own shape; remove %1$s.%2$s"
                  .formatted(field, extra));
        }
        yield new Call.Input.Inline(Messages.tensor(input.getInline(), field + ".inline"));
      }
      case HANDLE ->
          new Call.Input.Resident(
              input.getHandle(),
              view(
                  input.getShapeList(),
                  input.hasOffset() ? input.getOffset() : null,
                  input.getStridesList()));
      case SOURCE_NOT_SET ->
          throw new Failure.Refused(
              Code.INVALID_TENSOR,
              field,
              "%s is empty; it must be inline or a handle".formatted(field));
    };
  }

  private static Call.@Nullable View view(
      List<Long> shape, @Nullable Long offset, List<Long> strides) {
    return Call.View.of(shape.isEmpty() ? null : shape, offset, strides.isEmpty() ? null : strides);
  }

  private static Map<String, Call.View> views(Map<String, View> given) {
    var views = new HashMap<String, Call.View>();
    given.forEach((name, each) -> {
      var view =
          view(
              each.getShapeList(),
              each.hasOffset() ? each.getOffset() : null,
              each.getStridesList());
      if (view != null) {
        views.put(name, view);
      }
    });
    return views;
  }

  private static Map<String, Object> attributes(Map<String, AttributeValue> given, String path) {
    var attributes = new LinkedHashMap<String, Object>();
    given.forEach(
        (name, value) -> attributes.put(name, attribute(value, path + Tensors.excerpt(name))));
    return attributes;
  }

  private static Object attribute(AttributeValue value, String field) {
    return switch (value.getValueCase()) {
      case FLAG -> value.getFlag();
      case INTEGER -> value.getInteger();
      case NUMBER -> value.getNumber();
      case TEXT -> value.getText();
      case INTEGERS -> value.getIntegers().getValuesList();
      case NUMBERS -> value.getNumbers().getValuesList();
      case VALUE_NOT_SET ->
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              field,
              "%s is empty; it must be a flag, an integer, a number, a text, integers or numbers"
                  .formatted(field));
    };
  }

  static Map<String, Call.Target> outputs(Map<String, OutputTarget> given) {
    var outputs = new LinkedHashMap<String, Call.Target>();
    given.forEach(
        (name, target) -> outputs.put(name, target(target, "outputs." + Tensors.excerpt(name))));
    return outputs;
  }

  private static Call.Target target(OutputTarget target, String field) {
    var destination =
        switch (target.getDestinationCase()) {
          case KEEP -> target.getKeep() ? new Destination.Keep() : new Destination.Inline();
          case INTO ->
              new Destination.Into(
                  target.getInto(),
                  target.hasVersion() ? target.getVersion() : null,
                  target.getInPlace());
          case DESTINATION_NOT_SET -> new Destination.Inline();
        };
    return new Call.Target(
        destination, target.hasDtype() ? Tensors.dtype(target.getDtype(), field + ".dtype") : null);
  }
}
