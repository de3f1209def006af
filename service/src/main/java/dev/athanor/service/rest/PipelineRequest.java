package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.stream.RequestContext;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * A request to run a pipeline, in JSON.
 *
 * @param encodings the encodings of outputs
 */
record PipelineRequest(Pipeline pipeline, Map<String, Encoding> encodings) {

  private static final List<String> KEYS = List.of("inputs", "steps", "outputs");
  private static final List<String> SOURCE_KEYS = List.of("ref", "shape", "offset", "strides");
  private static final List<String> STEP_KEYS = List.of("op", "inputs", "attributes", "outputs");

  /**
   * Reads the body of {@code POST /pipelines/run}.
   *
   * @param limit maximum size of a tensor in bytes
   */
  static PipelineRequest read(
      Catalogue catalogue, InputStream body, long limit, RequestContext context)
      throws IOException {
    var budget = new DecodeBudget(context.memory(), limit);
    return Json.read(body, parser -> new Reader(catalogue, parser, budget).read(context));
  }

  private static final class Reader {
    private final Catalogue catalogue;
    private final JsonParser parser;
    private final DecodeBudget budget;
    private final Map<String, Call.Input> inputs = new LinkedHashMap<>();
    private final List<Pipeline.Step> steps = new ArrayList<>();
    private final Map<String, Target> outputs = new LinkedHashMap<>();
    private final Map<String, Encoding> encodings = new HashMap<>();

    Reader(Catalogue catalogue, JsonParser parser, DecodeBudget budget) {
      this.catalogue = catalogue;
      this.parser = parser;
      this.budget = budget;
    }

    PipelineRequest read(RequestContext context) {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        parser.nextToken();
        switch (key) {
          case "inputs" ->
              RequestJson.members(
                  parser,
                  "inputs",
                  Code.INVALID_TENSOR,
                  name -> inputs.put(name, RequestJson.input(parser, "inputs." + name, budget)));
          case "steps" -> steps();
          case "outputs" ->
              RequestJson.members(parser, "outputs", Code.INVALID_ATTRIBUTE, this::output);
          default -> throw Json.unknown("", key, KEYS);
        }
      }
      return new PipelineRequest(new Pipeline(inputs, steps, outputs, context), encodings);
    }

    private void output(String name) {
      var output = RequestJson.output(parser, "outputs." + name);
      outputs.put(name, output.target());
      encodings.put(name, output.encoding());
    }

    private void steps() {
      if (parser.currentToken() != JsonToken.START_ARRAY) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            "steps",
            "steps must be a list of objects, got " + Json.name(parser.currentToken()));
      }
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        if (steps.size() == Pipeline.MAX_STEPS) {
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              "steps",
              "steps has more than %d entries, which is the limit".formatted(Pipeline.MAX_STEPS));
        }
        try {
          steps.add(step("steps[" + steps.size() + "]"));
        } catch (Failure e) {
          throw e.in(new Failure.Step(steps.size(), null));
        }
      }
    }

    private Pipeline.Step step(String path) {
      var op = new String[1];
      var from = new LinkedHashMap<String, String>();
      var views = new HashMap<String, Call.View>();
      var attributes = new LinkedHashMap<String, Object>();
      var to = new LinkedHashMap<String, String>();
      RequestJson.members(
          parser,
          path,
          Code.INVALID_ATTRIBUTE,
          key -> {
            var at = path + "." + key;
            switch (key) {
              case "op" -> op[0] = Json.string(parser, at, Code.UNKNOWN_OP);
              case "inputs" ->
                  RequestJson.members(
                      parser,
                      at,
                      Code.INVALID_TENSOR,
                      name -> source(name, at + "." + name, from, views));
              case "attributes" ->
                  RequestJson.members(
                      parser,
                      at,
                      Code.INVALID_ATTRIBUTE,
                      name -> attributes.put(name, AttributeValues.read(parser, at + "." + name)));
              case "outputs" -> names(at, Code.INVALID_ATTRIBUTE, to);
              default -> throw Json.unknown(path, key, STEP_KEYS);
            }
          });
      if (op[0] == null) {
        throw new Failure.Refused(
            Code.UNKNOWN_OP,
            path + ".op",
            "%s.op is missing; it names the op to run".formatted(path));
      }
      var found = OpController.find(catalogue, op[0], path + ".op");
      return new Pipeline.Step(found, from, views, attributes, to);
    }

    /** Reads the source of an input: a name, or an object with the name and a view. */
    private void source(
        String input, String path, Map<String, String> from, Map<String, Call.View> views) {
      if (parser.currentToken() != JsonToken.START_OBJECT) {
        from.put(input, Json.string(parser, path, Code.INVALID_TENSOR));
        return;
      }
      var lists = new HashMap<String, List<Long>>();
      var offset = new Long[1];
      RequestJson.members(
          parser,
          path,
          Code.INVALID_TENSOR,
          key -> {
            var at = path + "." + key;
            switch (key) {
              case "ref" -> from.put(input, Json.string(parser, at, Code.INVALID_TENSOR));
              case "shape" -> lists.put(key, TensorJson.shape(parser, at));
              case "strides" -> lists.put(key, TensorJson.integers(parser, at, 0));
              case "offset" -> offset[0] = TensorJson.integer(parser, at, 0);
              default -> throw Json.unknown(path, key, SOURCE_KEYS);
            }
          });
      if (!from.containsKey(input)) {
        throw new Failure.Refused(
            Code.INVALID_TENSOR,
            path + ".ref",
            "%s.ref is missing; it names an earlier output, an input of the pipeline, or a stored tensor"
                .formatted(path));
      }
      var view = Call.View.of(lists.get("shape"), offset[0], lists.get("strides"));
      if (view != null) {
        views.put(input, view);
      }
    }

    private void names(String path, Code code, Map<String, String> names) {
      RequestJson.members(
          parser,
          path,
          code,
          name -> names.put(name, Json.string(parser, path + "." + name, code)));
    }
  }
}
