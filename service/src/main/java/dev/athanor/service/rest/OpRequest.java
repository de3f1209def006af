package dev.athanor.service.rest;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Terms;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * A request to run an op, as JSON has it.
 *
 * @param encodings how outputs are to be written
 */
record OpRequest(Call call, Map<String, Encoding> encodings) {

  private static final List<String> KEYS = List.of("inputs", "attributes", "outputs");

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
          case "inputs" -> RequestJson.members(parser, "inputs", Code.INVALID_TENSOR, this::input);
          case "attributes" ->
              RequestJson.members(parser, "attributes", Code.INVALID_ATTRIBUTE, this::attribute);
          case "outputs" ->
              RequestJson.members(parser, "outputs", Code.INVALID_ATTRIBUTE, this::output);
          default -> throw Json.unknown("", key, KEYS);
        }
      }
      return new OpRequest(new Call(runnable, inputs, attributes, outputs, terms), encodings);
    }

    private void input(String name) {
      if (op.input(name).isEmpty()) {
        throw Json.unknown(
            "inputs", name, op.inputs().stream().map(OpDescription.Input::name).toList());
      }
      inputs.put(name, RequestJson.input(parser, "inputs." + name, limit));
    }

    private void attribute(String name) {
      if (op.attribute(name).isEmpty()) {
        throw Json.unknown(
            "attributes",
            name,
            op.attributes().stream().map(OpDescription.Attribute::name).toList());
      }
      attributes.put(name, RequestJson.attribute(parser, "attributes." + name));
    }

    private void output(String name) {
      if (op.output(name).isEmpty()) {
        throw Json.unknown(
            "outputs", name, op.outputs().stream().map(OpDescription.Output::name).toList());
      }
      var output = RequestJson.output(parser, "outputs." + name);
      outputs.put(name, output.target());
      encodings.put(name, output.encoding());
    }
  }
}
