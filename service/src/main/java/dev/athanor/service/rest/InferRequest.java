package dev.athanor.service.rest;

import static java.util.Objects.requireNonNullElse;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.JsonElements;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.openinference.Datatypes;
import dev.athanor.service.openinference.InferenceRequest;
import dev.athanor.service.openinference.InferenceRequest.Input;
import dev.athanor.service.openinference.InferenceRequest.Output;
import dev.athanor.service.openinference.Model;
import dev.athanor.service.openinference.ServedModel;
import dev.athanor.service.run.Call.View;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * An inference request in REST form: JSON, optionally followed by tensors as raw bytes.
 *
 * @param id the request id, echoed in the response; null if absent
 * @param binary whether outputs are returned as raw bytes by default
 * @param binaryOf overrides of {@code binary} by output name
 */
record InferRequest(
    @Nullable String id, InferenceRequest request, boolean binary, Map<String, Boolean> binaryOf) {

  /** Maximum number of parameters: more than any op has, and a bound for hostile input. */
  private static final int MAX_PARAMETERS = 256;

  private static final List<String> KEYS =
      List.of("id", "model_name", "model_version", "parameters", "inputs", "outputs");
  private static final List<String> INPUT_KEYS =
      List.of("name", "shape", "datatype", "parameters", "data");
  private static final List<String> OUTPUT_KEYS = List.of("name", "parameters");

  /** Keys whose value may be null, which means absent: serializers write it for unset fields. */
  private static final Set<String> NULLABLE = Set.of("id", "parameters", "outputs");

  private static final Set<String> NULLABLE_OF_INPUT = Set.of("parameters", "data");
  private static final Set<String> NULLABLE_OF_OUTPUT = Set.of("parameters");

  boolean isBinary(String output) {
    return binaryOf.getOrDefault(output, binary);
  }

  /**
   * Reads the body of a request.
   *
   * @param header the length of the JSON header in bytes; null if the whole body is JSON, 0 if the
   *     body is the raw data of the only input
   */
  static InferRequest read(
      ServedModel model, ByteSource body, @Nullable Long header, DecodeBudget budget)
      throws IOException {
    if (header == null) {
      return Json.read(body, parser -> new Reader(model, parser, budget).read()).finish();
    }
    if (header == 0) {
      return raw(model, body, budget);
    }
    var json = body.readNBytes(Math.toIntExact(header));
    if (json.length < header) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          HttpRequests.INFERENCE_HEADER,
          "%s is %d, but the body has %d bytes"
              .formatted(HttpRequests.INFERENCE_HEADER, header, json.length));
    }
    var reader =
        Json.read(
            new ByteArrayInputStream(json), parser -> new Reader(model, parser, budget).read());
    return reader.finish(body);
  }

  /**
   * Reads a body that is the raw data of the only input; its variable dimension follows from the
   * length.
   */
  private static InferRequest raw(ServedModel served, ByteSource body, DecodeBudget budget)
      throws IOException {
    var model = served.description();
    var input = model.inputs().getFirst();
    long free = input.shape().stream().filter(extent -> extent == Model.ANY).count();
    if (model.inputs().size() != 1 || free != 1) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          HttpRequests.INFERENCE_HEADER,
          "%s is 0, which requires a model with one input that has exactly one variable dimension; %s has %s"
              .formatted(
                  HttpRequests.INFERENCE_HEADER,
                  model.name(),
                  model.inputs().size() == 1
                      ? "an input with %d variable dimensions".formatted(free)
                      : "%d inputs".formatted(model.inputs().size())));
    }
    var data = Tensors.readAll(body, budget);
    long bytes = data.byteSize();
    long row =
        input.shape().stream().filter(extent -> extent != Model.ANY).reduce(1L, Math::multiplyExact)
            * input.dtype().bytes();
    if (bytes == 0 || bytes % row != 0) {
      throw new Failure.Refused(
          Code.INVALID_TENSOR,
          "body",
          "the body has %d bytes; input \"%s\" of datatype %s requires a multiple of %d bytes"
              .formatted(bytes, input.name(), input.datatype(), row));
    }
    var extents =
        input.shape().stream().map(extent -> extent == Model.ANY ? bytes / row : extent).toList();
    var type = Tensors.type(input.dtype(), extents, "body");
    var tensor = Tensors.checked(type, data, "body");
    return new InferRequest(
        null,
        new InferenceRequest(
            Map.of(),
            List.of(new Input.Data(input.name(), tensor)),
            List.of(),
            EnumSet.allOf(DType.class)),
        true,
        Map.of());
  }

  /**
   * An input as given in JSON.
   *
   * @param size the number of raw bytes after the JSON; null if its data is in the JSON
   */
  private record Given(
      String name,
      @Nullable DType dtype,
      @Nullable List<Long> shape,
      @Nullable JsonElements data,
      @Nullable Long size,
      @Nullable String handle,
      @Nullable View view) {

    String field() {
      return "inputs." + name;
    }

    TensorType type() {
      if (dtype == null || shape == null) {
        var missing = field() + (dtype == null ? ".datatype" : ".shape");
        throw new Failure.Refused(Code.INVALID_TENSOR, missing, missing + " is missing");
      }
      return Tensors.type(dtype, shape, field() + ".shape");
    }

    Input fromJson() {
      if (handle != null) {
        return new Input.Handle(name, handle, dtype, view);
      }
      if (data == null) {
        throw new Failure.Refused(
            Code.INVALID_TENSOR,
            field(),
            "%s has no data; give data, binary_data_size or tensor_handle".formatted(field()));
      }
      var type = type();
      if (!Datatypes.NUMBERS.contains(type.dtype())) {
        throw Datatypes.rawOnly(type.dtype(), field() + ".data");
      }
      return new Input.Data(name, data.toTensor(type));
    }

    /** Describes its raw bytes. */
    Tensors.Part part(long bytes) {
      var type = type();
      InferenceRequest.checkSize(bytes, type, field());
      return new Tensors.Part(field(), type);
    }
  }

  private static final class Reader {
    private final ServedModel model;
    private final JsonParser parser;
    private final DecodeBudget budget;

    private @Nullable String id;
    private Map<String, Object> parameters = Map.of();
    private final List<Given> inputs = new ArrayList<>();
    private final Map<String, Map<String, Object>> outputs = new HashMap<>();
    private final Set<String> names = new HashSet<>();

    Reader(ServedModel model, JsonParser parser, DecodeBudget budget) {
      this.model = model;
      this.parser = parser;
      this.budget = budget;
    }

    Reader read() {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        if (parser.nextToken() == JsonToken.VALUE_NULL && NULLABLE.contains(key)) {
          continue;
        }
        switch (key) {
          case "id" ->
              id = InferenceRequest.checkedId(Json.string(parser, "id", Code.INVALID_ATTRIBUTE));
          case "model_name" -> checkModel("model_name", model.name());
          case "model_version" -> checkModel("model_version", model.version());
          case "parameters" -> parameters = parameters("parameters");
          case "inputs" -> elements("inputs", this::input);
          case "outputs" -> elements("outputs", this::output);
          default -> throw Json.unknown("", key, KEYS);
        }
      }
      return this;
    }

    /** Checks a model name or version in the body, which KServe's clients repeat from the path. */
    private void checkModel(String field, String right) {
      var given = Json.string(parser, field, Code.INVALID_ATTRIBUTE);
      if (!given.equals(right)) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            field,
            "%s is \"%s\"; it must be \"%s\" as in the path, or absent"
                .formatted(field, Tensors.excerpt(given), right));
      }
    }

    private void elements(String field, Consumer<String> element) {
      if (parser.currentToken() != JsonToken.START_ARRAY) {
        throw new Failure.Refused(Code.INVALID_TENSOR, field, "%s must be a list".formatted(field));
      }
      for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
        var at = "%s[%d]".formatted(field, i);
        Json.expectObject(parser, at, Code.INVALID_TENSOR);
        element.accept(at);
      }
    }

    private void input(String position) {
      String name = null;
      DType dtype = null;
      List<Long> shape = null;
      JsonElements data = null;
      Map<String, Object> given = new HashMap<>();
      var at = position;
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        if (parser.nextToken() == JsonToken.VALUE_NULL && NULLABLE_OF_INPUT.contains(key)) {
          continue;
        }
        switch (key) {
          case "name" -> {
            name =
                InferenceRequest.inputName(
                    model, Json.string(parser, at + ".name", Code.INVALID_TENSOR), names);
            names.add(name);
            at = "inputs." + name;
          }
          case "datatype" ->
              dtype =
                  Datatypes.of(
                      Json.string(parser, at + ".datatype", Code.UNSUPPORTED_DTYPE),
                      at + ".datatype");
          case "shape" -> shape = TensorJson.shape(parser, at + ".shape");
          case "parameters" -> given = parameters(at + ".parameters");
          case "data" -> data = JsonElements.read(parser, at, dtype, budget);
          default -> throw Json.unknown(at, key, INPUT_KEYS);
        }
      }
      var size = InferenceRequest.takeSize(given, at);
      var handle = InferenceRequest.handle(given, at);
      if (handle != null && (data != null || size != null)) {
        throw InferenceRequest.handleAndData(at);
      }
      if (data != null && size != null) {
        throw new Failure.Refused(
            Code.INVALID_TENSOR,
            at,
            "%s has both data and binary_data_size; give only one".formatted(at));
      }
      var view = handle == null ? null : InferenceRequest.view(given, shape, at);
      inputs.add(new Given(named(name, position), dtype, shape, data, size, handle, view));
    }

    private void output(String position) {
      String name = null;
      Map<String, Object> given = new HashMap<>();
      var at = position;
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        if (parser.nextToken() == JsonToken.VALUE_NULL && NULLABLE_OF_OUTPUT.contains(key)) {
          continue;
        }
        switch (key) {
          case "name" -> {
            name =
                InferenceRequest.outputName(
                    model,
                    Json.string(parser, at + ".name", Code.INVALID_TENSOR),
                    outputs.keySet());
            at = "outputs." + name;
          }
          case "parameters" -> given = parameters(at + ".parameters");
          default -> throw Json.unknown(at, key, OUTPUT_KEYS);
        }
      }
      outputs.put(named(name, position), given);
    }

    private static String named(@Nullable String name, String position) {
      if (name == null) {
        throw new Failure.Refused(
            Code.INVALID_TENSOR, position + ".name", position + ".name is missing");
      }
      return name;
    }

    private Map<String, Object> parameters(String field) {
      Json.expectObject(parser, field, Code.INVALID_ATTRIBUTE);
      var values = new HashMap<String, Object>();
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var name = parser.currentName();
        if (values.size() == MAX_PARAMETERS) {
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              field,
              "%s has more than %d members".formatted(field, MAX_PARAMETERS));
        }
        parser.nextToken();
        values.put(name, AttributeValues.read(parser, field + "." + Tensors.excerpt(name)));
      }
      return values;
    }

    /** Returns the request of a body that is JSON only. */
    InferRequest finish() {
      var tensors = new ArrayList<Input>();
      for (var input : inputs) {
        if (input.size() != null) {
          throw new Failure.Refused(
              Code.INVALID_TENSOR,
              input.field(),
              "%s has binary_data_size, but the request lacks the header %s"
                  .formatted(input.field(), HttpRequests.INFERENCE_HEADER));
        }
        tensors.add(input.fromJson());
      }
      return request(tensors);
    }

    /**
     * Returns the request of a body in which raw tensors follow the JSON, in the order of the
     * inputs.
     */
    InferRequest finish(ByteSource body) throws IOException {
      var parts = new ArrayList<Tensors.Part>();
      for (var input : inputs) {
        if (input.size() != null) {
          parts.add(input.part(input.size()));
        }
      }
      var data = Tensors.read(parts, body, budget).iterator();
      var tensors = new ArrayList<Input>();
      for (var input : inputs) {
        tensors.add(
            input.size() == null ? input.fromJson() : new Input.Data(input.name(), data.next()));
      }
      if (body.read() >= 0) {
        throw new Failure.Refused(
            Code.INVALID_TENSOR, "body", "the body is longer than the sum of all binary_data_size");
      }
      return request(tensors);
    }

    private InferRequest request(List<Input> tensors) {
      var left = new HashMap<>(parameters);
      boolean binary =
          Boolean.TRUE.equals(
              InferenceRequest.takeFlag(left, InferenceRequest.BINARY_DATA_OUTPUT, "parameters"));
      var asked = new ArrayList<Output>();
      var binaryOf = new HashMap<String, Boolean>();
      outputs.forEach((name, given) -> {
        var field = "outputs." + name;
        var own =
            InferenceRequest.takeFlag(given, InferenceRequest.BINARY_DATA, field + ".parameters");
        if (own != null) {
          binaryOf.put(name, own);
        }
        asked.add(
            new Output(
                name,
                InferenceRequest.destination(
                    given, field, encodable(requireNonNullElse(own, binary)))));
      });
      return new InferRequest(
          id,
          new InferenceRequest(left, tensors, asked, encodable(binary)),
          binary,
          Map.copyOf(binaryOf));
    }

    private static Set<DType> encodable(boolean binary) {
      return binary ? EnumSet.allOf(DType.class) : Datatypes.NUMBERS;
    }
  }
}
