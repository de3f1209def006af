package dev.athanor.service.rest;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Terms;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * A request to run an op, as JSON has it.
 *
 * @param encodings how outputs are to be written
 */
record OpRequest(Call call, Map<String, Encoding> encodings) {

  private static final List<String> KEYS = List.of("inputs", "attributes", "outputs");
  private static final List<String> OUTPUT_KEYS = List.of("as", "into", "dtype", "encoding");

  /**
   * Reads the body of {@code POST /ops/{op}}.
   *
   * @param limit how many bytes a tensor may have
   */
  static OpRequest read(Op op, InputStream body, long limit, Terms terms) throws IOException {
    return Json.read(body, parser -> new Reader(op.description(), parser, limit).read(op, terms));
  }

  private static final class Reader {
    private final OpDescription op;
    private final JsonParser parser;
    private final long limit;
    private final Map<String, Call.Input> inputs = new HashMap<>();
    private final Map<String, Object> attributes = new HashMap<>();
    private final Map<String, Target> outputs = new HashMap<>();
    private final Map<String, Encoding> encodings = new HashMap<>();

    Reader(OpDescription op, JsonParser parser, long limit) {
      this.op = op;
      this.parser = parser;
      this.limit = limit;
    }

    OpRequest read(Op runnable, Terms terms) {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        parser.nextToken();
        switch (key) {
          case "inputs" -> members("inputs", Code.INVALID_TENSOR, this::input);
          case "attributes" -> members("attributes", Code.INVALID_ATTRIBUTE, this::attribute);
          case "outputs" -> members("outputs", Code.INVALID_ATTRIBUTE, this::output);
          default -> throw Json.unknown("", key, KEYS);
        }
      }
      return new OpRequest(new Call(runnable, inputs, attributes, outputs, terms), encodings);
    }

    private void members(String path, Code code, Consumer<String> member) {
      Json.expectObject(parser, path, code);
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var name = parser.currentName();
        parser.nextToken();
        member.accept(name);
      }
    }

    private void input(String name) {
      if (op.input(name).isEmpty()) {
        throw Json.unknown(
            "inputs", name, op.inputs().stream().map(OpDescription.Input::name).toList());
      }
      inputs.put(
          name,
          switch (TensorJson.read(parser, "inputs." + name, limit)) {
            case TensorJson.Source.Inline(var tensor) -> new Call.Input.Inline(tensor);
            case TensorJson.Source.Handle(var handle) -> new Call.Input.Resident(handle);
          });
    }

    private void attribute(String name) {
      if (op.attribute(name).isEmpty()) {
        throw Json.unknown(
            "attributes",
            name,
            op.attributes().stream().map(OpDescription.Attribute::name).toList());
      }
      attributes.put(
          name,
          switch (parser.currentToken()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_STRING -> Tensors.excerpt(parser.getString());
            case VALUE_NUMBER_INT -> parser.getNumberValue();
            case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
            default ->
                throw new Failure.Refused(
                    Code.INVALID_ATTRIBUTE,
                    "attributes." + name,
                    "attributes.%s must be true, false, a number or a string".formatted(name));
          });
    }

    private void output(String name) {
      if (op.output(name).isEmpty()) {
        throw Json.unknown(
            "outputs", name, op.outputs().stream().map(OpDescription.Output::name).toList());
      }
      var path = "outputs." + name;
      var fields = new HashMap<String, String>();
      members(
          path,
          Code.INVALID_ATTRIBUTE,
          key -> {
            if (!OUTPUT_KEYS.contains(key)) {
              throw Json.unknown(path, key, OUTPUT_KEYS);
            }
            fields.put(key, Json.string(parser, path + "." + key, Code.INVALID_ATTRIBUTE));
          });
      var dtype = fields.get("dtype");
      outputs.put(
          name,
          new Target(
              destination(path, fields.get("as"), fields.get("into")),
              dtype == null ? null : Tensors.dtype(dtype, path + ".dtype")));
      encodings.put(
          name,
          switch (fields.getOrDefault("encoding", "json")) {
            case "json" -> Encoding.JSON;
            case "base64" -> Encoding.BASE64;
            default -> throw choice(path + ".encoding", fields.get("encoding"), "json or base64");
          });
    }

    private static Destination destination(
        String path, @Nullable String as, @Nullable String into) {
      if (as != null && !as.equals("inline") && !as.equals("handle")) {
        throw choice(path + ".as", as, "inline or handle");
      }
      if (into != null) {
        if ("inline".equals(as)) {
          throw choice(path + ".as", as, "handle, or left out, where into is given");
        }
        return new Destination.Into(into);
      }
      return "handle".equals(as) ? new Destination.Keep() : new Destination.Inline();
    }

    private static Failure choice(String path, @Nullable String got, String right) {
      return new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          path,
          "%s is \"%s\"; it must be %s"
              .formatted(path, Tensors.excerpt(String.valueOf(got)), right));
    }
  }
}
