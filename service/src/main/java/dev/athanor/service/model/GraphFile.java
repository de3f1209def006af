package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelDefinition.Input;
import dev.athanor.models.pipeline.PipelineModel;
import dev.athanor.models.pipeline.PipelineModel.Kept;
import dev.athanor.models.pipeline.PipelineModel.Source;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.pipeline.StepReader;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Names;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Reads a graph in JSON: inputs with their types, weights, the steps of a pipeline, outputs, and
 * the state of sessions.
 */
final class GraphFile {

  private static final List<String> KEYS =
      List.of("inputs", "weights", "steps", "outputs", "state");
  private static final List<String> INPUT_KEYS = List.of("dtype", "shape");
  private static final List<String> STATE_KEYS = List.of("dtype", "shape", "next");

  /** The names of extents, which stand in lists of ranges. */
  private static final Pattern EXTENT = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]{0,63}");

  private final Catalogue catalogue;
  private final JsonParser parser;
  private final Map<String, HostTensor> tensors;
  private final List<Input> inputs = new ArrayList<>();
  private final Map<String, HostTensor> constants;
  private final Map<String, String> residents = new LinkedHashMap<>();
  private final List<Pipeline.Step> steps = new ArrayList<>();
  private final Map<String, String> outputs = new LinkedHashMap<>();
  private final Map<String, Kept> states = new LinkedHashMap<>();

  private GraphFile(Catalogue catalogue, JsonParser parser, Map<String, HostTensor> tensors) {
    this.catalogue = catalogue;
    this.parser = parser;
    this.tensors = tensors;
    constants = new LinkedHashMap<>(tensors);
  }

  /**
   * Reads a graph.
   *
   * @param tensors those that steps and weights may name
   * @throws Failure.Refused with the path of what is invalid
   * @throws dev.athanor.models.ModelException if names or steps do not suit each other
   */
  static ModelDefinition read(
      Catalogue catalogue, InputStream file, Map<String, HostTensor> tensors) throws IOException {
    return Json.read(file, parser -> new GraphFile(catalogue, parser, tensors).read());
  }

  private ModelDefinition read() {
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var key = parser.currentName();
      parser.nextToken();
      switch (key) {
        case "inputs" -> members(key, this::input);
        case "weights" -> members(key, this::weight);
        case "steps" -> steps.addAll(StepReader.read(catalogue, parser));
        case "outputs" -> members(key, name -> outputs.put(name, label("outputs." + name)));
        case "state" -> members(key, this::state);
        default -> throw Json.unknown("", key, KEYS);
      }
    }
    if (inputs.isEmpty() || steps.isEmpty()) {
      var missing = inputs.isEmpty() ? "inputs" : "steps";
      throw invalid(missing, "%s is missing; a graph has at least one".formatted(missing));
    }
    var read = new ArrayList<PipelineModel.Step>();
    for (var step : steps) {
      read.add(step(step, "steps[%d].".formatted(read.size())));
    }
    return new PipelineModel(
        new PipelineModel.Members(inputs, constants, residents, read, outputs, states));
  }

  private interface Member {
    void read(String name);
  }

  private void members(String key, Member member) {
    Json.members(
        parser,
        key,
        Code.INVALID_ATTRIBUTE,
        name -> {
          Pipeline.requireName(name, key);
          member.read(name);
        });
  }

  private String string(String field) {
    return Json.string(parser, field, Code.INVALID_ATTRIBUTE);
  }

  /** Reads the name of a tensor. */
  private String label(String field) {
    var name = string(field);
    Pipeline.requireName(name, field);
    return name;
  }

  private static Failure invalid(String field, String message) {
    return new Failure.Refused(Code.INVALID_ATTRIBUTE, field, message);
  }

  // -- inputs and states

  /** The members of an input or a state. */
  private record Declared(DType dtype, List<String> extents, String next) {}

  private Declared declared(String path, List<String> keys) {
    var texts = new HashMap<String, String>();
    var shape = new HashMap<String, List<String>>();
    Json.members(
        parser,
        path,
        Code.INVALID_ATTRIBUTE,
        key -> {
          var at = path + "." + key;
          if (!keys.contains(key)) {
            throw Json.unknown(path, key, keys);
          } else if (key.equals("shape")) {
            shape.put(key, extents(at));
          } else {
            texts.put(key, key.equals("next") ? label(at) : string(at));
          }
        });
    for (var key : keys) {
      if (!texts.containsKey(key) && !shape.containsKey(key)) {
        throw invalid(path + "." + key, "%s.%s is missing".formatted(path, key));
      }
    }
    return new Declared(
        Tensors.dtype(texts.getOrDefault("dtype", ""), path + ".dtype"),
        shape.getOrDefault("shape", List.of()),
        texts.getOrDefault("next", ""));
  }

  /** Reads extents: numbers and names. */
  private List<String> extents(String path) {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw invalid(
          path,
          "%s must be a list of extents, got %s".formatted(path, Json.name(parser.currentToken())));
    }
    var extents = new ArrayList<String>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      if (extents.size() == Tensors.MAX_RANK) {
        throw invalid(
            path,
            "%s has more than %d dimensions, which is the limit".formatted(path, Tensors.MAX_RANK));
      }
      var at = "%s[%d]".formatted(path, extents.size());
      if (parser.currentToken() != JsonToken.VALUE_STRING) {
        extents.add(Long.toString(TensorJson.integer(parser, at, 0)));
      } else if (EXTENT.matcher(parser.getString()).matches()) {
        extents.add(parser.getString());
      } else {
        throw invalid(
            at,
            "%s is %s; an extent is a number, or a name of 1 to 64 letters, digits, periods, hyphens and underscores that begins with a letter or an underscore"
                .formatted(at, Json.excerpt(parser)));
      }
    }
    return extents;
  }

  private void input(String name) {
    var path = "inputs." + name;
    var declared = declared(path, INPUT_KEYS);
    inputs.add(new Input(name, declared.dtype, declared.extents));
    // extents with names have no limit of their own
    type(declared, path, declared.extents.stream().filter(GraphFile::isNumber).toList());
  }

  private static boolean isNumber(String extent) {
    return !EXTENT.matcher(extent).matches();
  }

  private static TensorType type(Declared declared, String path, List<String> extents) {
    return Tensors.type(
        declared.dtype, extents.stream().map(Long::parseLong).toList(), path + ".shape");
  }

  private void state(String name) {
    var path = "state." + name;
    var declared = declared(path, STATE_KEYS);
    for (var extent : declared.extents) {
      if (!isNumber(extent)) {
        throw invalid(
            path + ".shape",
            "%s.shape has \"%s\"; the extents of a state are numbers".formatted(path, extent));
      }
    }
    states.put(name, new Kept(type(declared, path, declared.extents), declared.next));
  }

  // -- weights and steps

  private void weight(String name) {
    var path = "weights." + name;
    var tensor = string(path);
    var stored = tensors.get(tensor);
    if (stored != null) {
      constants.put(name, stored);
    } else if (Handles.isHandle(tensor) || Names.isName(tensor)) {
      residents.put(name, tensor);
    } else {
      throw invalid(
          path,
          "%s is \"%s\", which is neither a tensor of the zip, nor the handle or name of a stored tensor"
              .formatted(path, Tensors.excerpt(tensor)));
    }
  }

  private PipelineModel.Step step(Pipeline.Step step, String at) {
    AttributeValues.checkSizes(step.attributes(), at + "attributes.");
    step.outputs().forEach((output, name) -> Pipeline.requireName(name, at + "outputs." + output));
    var sources = new LinkedHashMap<String, Source>();
    step.inputs()
        .forEach((input, name) -> {
          var path = at + "inputs." + input;
          if (!tensors.containsKey(name)) {
            Pipeline.requireName(name, path);
          }
          sources.put(input, new Source(name, shape(step.views().get(input), path)));
        });
    return new PipelineModel.Step(
        step.op().description().name(), sources, step.attributes(), step.outputs());
  }

  private static @Nullable List<Long> shape(Call.@Nullable View view, String path) {
    if (view == null) {
      return null;
    }
    if (view.offset() != null || view.strides() != null) {
      var field = path + (view.offset() != null ? ".offset" : ".strides");
      throw invalid(
          field,
          "%s is not supported in stored graphs; use the op slice or permute instead"
              .formatted(field));
    }
    var shape = view.shape();
    if (shape != null
        && (shape.stream().anyMatch(extent -> extent < -1)
            || shape.stream().filter(extent -> extent == -1).count() > 1)) {
      throw invalid(
          path + ".shape",
          "%s.shape is %s; every extent must be at least 0, except for one of -1, which is inferred"
              .formatted(path, shape));
    }
    return shape;
  }
}
