package dev.athanor.service.pipeline;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.OpNames;
import dev.athanor.service.run.Pipeline;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Reads steps from JSON. */
public final class StepReader {

  private static final List<String> KEYS = List.of("op", "inputs", "attributes", "outputs");
  private static final List<String> SOURCE_KEYS = List.of("ref", "shape", "offset", "strides");

  private final Catalogue catalogue;
  private final JsonParser parser;
  private final List<Pipeline.Step> steps = new ArrayList<>();

  private StepReader(Catalogue catalogue, JsonParser parser) {
    this.catalogue = catalogue;
    this.parser = parser;
  }

  /**
   * Reads the member {@code steps} of a pipeline.
   *
   * @param parser at its list
   * @throws Failure.Refused with the path of what is invalid
   */
  public static List<Pipeline.Step> read(Catalogue catalogue, JsonParser parser) {
    var reader = new StepReader(catalogue, parser);
    reader.read();
    return reader.steps;
  }

  private void read() {
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
    Json.members(
        parser,
        path,
        Code.INVALID_ATTRIBUTE,
        key -> {
          var at = path + "." + key;
          switch (key) {
            case "op" -> op[0] = Json.string(parser, at, Code.UNKNOWN_OP);
            case "inputs" ->
                Json.members(
                    parser,
                    at,
                    Code.INVALID_TENSOR,
                    name -> source(name, at + "." + name, from, views));
            case "attributes" ->
                Json.members(
                    parser,
                    at,
                    Code.INVALID_ATTRIBUTE,
                    name -> attributes.put(name, AttributeValues.read(parser, at + "." + name)));
            case "outputs" -> names(at, Code.INVALID_ATTRIBUTE, to);
            default -> throw Json.unknown(path, key, KEYS);
          }
        });
    if (op[0] == null) {
      throw new Failure.Refused(
          Code.UNKNOWN_OP,
          path + ".op",
          "%s.op is missing; it names the op to run".formatted(path));
    }
    var found = OpNames.find(catalogue, op[0], path + ".op");
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
    Json.members(
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
    Json.members(
        parser, path, code, name -> names.put(name, Json.string(parser, path + "." + name, code)));
  }
}
