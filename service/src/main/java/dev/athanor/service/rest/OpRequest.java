package dev.athanor.service.rest;

import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.OpNames;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * A request to run an op, in JSON or as a safetensors file with query parameters.
 *
 * @param encodings the encodings of outputs
 */
record OpRequest(Call call, Map<String, Encoding> encodings) {

  private static final List<String> KEYS = List.of("inputs", "attributes", "outputs");

  /**
   * Reads the body of {@code POST /ops/{op}}.
   *
   * @param limit maximum size of a tensor in bytes
   * @param encodable the dtypes that the response format can encode
   */
  static OpRequest read(
      Op op, InputStream body, long limit, Set<DType> encodable, RequestContext context)
      throws IOException {
    var budget = new DecodeBudget(context.memory(), limit);
    return Json.read(
        body, parser -> new Reader(op.description(), parser, budget).read(op, encodable, context));
  }

  /**
   * Reads a safetensors body whose tensors are named like inputs. Query parameters give attributes,
   * resident inputs ({@code ?a=t_…}) and outputs ({@code ?c=handle}, {@code ?c=t_…}).
   *
   * @param limit maximum size of the file's data in bytes
   * @param encodable the dtypes that the response format can encode
   */
  static OpRequest ofSafetensors(
      Op op,
      HttpServletRequest request,
      ByteSource body,
      long limit,
      Set<DType> encodable,
      RequestContext context)
      throws IOException {
    var description = op.description();
    var inputs = new HashMap<String, Call.Input>();
    var attributes = new HashMap<String, Object>();
    var outputs = new HashMap<String, Target>();
    HttpRequests.checkQuery(request, name -> isName(description, name), OpNames.all(description));
    request
        .getParameterMap()
        .forEach((name, values) -> {
          if (description.attribute(name).isPresent()) {
            attributes.put(name, values[0]);
          } else if (description.input(name).isPresent()) {
            inputs.put(name, new Call.Input.Resident(values[0]));
          } else {
            outputs.put(name, new Target(destination(name, values[0]), null));
          }
        });
    var file = Safetensors.open(body, limit, "body");
    for (var name : file.types().keySet()) {
      if (description.input(name).isEmpty()) {
        throw Json.unknown("inputs", name, OpNames.inputs(description));
      }
      if (inputs.containsKey(name)) {
        throw new Failure.Refused(
            Code.INVALID_TENSOR,
            "inputs." + name,
            "inputs.%1$s is given in the body and as the query parameter %1$s; give only one"
                .formatted(name));
      }
    }
    file.read(context.memory())
        .forEach((name, tensor) -> inputs.put(name, new Call.Input.Inline(tensor)));
    return new OpRequest(call(op, inputs, attributes, outputs, encodable, context), Map.of());
  }

  /** Creates a call whose inline outputs are limited to dtypes that the response can encode. */
  private static Call call(
      Op op,
      Map<String, Call.Input> inputs,
      Map<String, ?> attributes,
      Map<String, Target> outputs,
      Set<DType> encodable,
      RequestContext context) {
    var inline = new Destination.Inline(encodable);
    var targets = new HashMap<>(outputs);
    targets.replaceAll((_, target) ->
        target.destination() instanceof Destination.Inline
            ? new Target(inline, target.dtype())
            : target);
    return new Call(op, inputs, attributes, targets, new Target(inline, null), context);
  }

  private static boolean isName(OpDescription op, String name) {
    return op.input(name).isPresent()
        || op.attribute(name).isPresent()
        || op.output(name).isPresent();
  }

  private static Destination destination(String output, String text) {
    if (Handles.isHandle(text)) {
      return new Destination.Into(text);
    }
    return switch (text) {
      case "inline" -> new Destination.Inline();
      case "handle" -> new Destination.Keep();
      default ->
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              "outputs." + output,
              "%s is \"%s\"; it must be inline, handle, or the handle t_… of a tensor to overwrite"
                  .formatted(output, Tensors.excerpt(text)));
    };
  }

  private static final class Reader {
    private final OpDescription op;
    private final JsonParser parser;
    private final DecodeBudget budget;
    private final Map<String, Call.Input> inputs = new HashMap<>();
    private final Map<String, Object> attributes = new HashMap<>();
    private final Map<String, Target> outputs = new HashMap<>();
    private final Map<String, Encoding> encodings = new HashMap<>();

    Reader(OpDescription op, JsonParser parser, DecodeBudget budget) {
      this.op = op;
      this.parser = parser;
      this.budget = budget;
    }

    OpRequest read(Op runnable, Set<DType> encodable, RequestContext context) {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        parser.nextToken();
        switch (key) {
          case "inputs" -> Json.members(parser, "inputs", Code.INVALID_TENSOR, this::input);
          case "attributes" ->
              Json.members(parser, "attributes", Code.INVALID_ATTRIBUTE, this::attribute);
          case "outputs" -> Json.members(parser, "outputs", Code.INVALID_ATTRIBUTE, this::output);
          default -> throw Json.unknown("", key, KEYS);
        }
      }
      var call = call(runnable, inputs, attributes, outputs, encodable, context);
      return new OpRequest(call, encodings);
    }

    private void input(String name) {
      if (op.input(name).isEmpty()) {
        throw Json.unknown("inputs", name, OpNames.inputs(op));
      }
      inputs.put(name, RequestJson.input(parser, "inputs." + name, budget));
    }

    private void attribute(String name) {
      if (op.attribute(name).isEmpty()) {
        throw Json.unknown("attributes", name, OpNames.attributes(op));
      }
      attributes.put(name, AttributeValues.read(parser, "attributes." + name));
    }

    private void output(String name) {
      if (op.output(name).isEmpty()) {
        throw Json.unknown("outputs", name, OpNames.outputs(op));
      }
      var output = RequestJson.output(parser, "outputs." + name);
      outputs.put(name, output.target());
      encodings.put(name, output.encoding());
    }
  }
}
