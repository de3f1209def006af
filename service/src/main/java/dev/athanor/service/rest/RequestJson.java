package dev.athanor.service.rest;

import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import java.util.HashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;

/** JSON elements shared by op and pipeline requests. */
final class RequestJson {

  private static final List<String> OUTPUT_KEYS =
      List.of("as", "into", "version", "inPlace", "dtype", "encoding");

  private RequestJson() {}

  /** Reads a tensor. */
  static Call.Input input(JsonParser parser, String path, DecodeBudget budget) {
    return switch (TensorJson.read(parser, path, budget)) {
      case TensorJson.Source.Inline(var tensor) -> new Call.Input.Inline(tensor);
      case TensorJson.Source.Handle(var handle, var shape, var offset, var strides) ->
          new Call.Input.Resident(handle, Call.View.of(shape, offset, strides));
    };
  }

  /** The target and the encoding of an output. */
  record Output(Target target, Encoding encoding) {}

  /** Reads an output request. */
  static Output output(JsonParser parser, String path) {
    var fields = new HashMap<String, String>();
    var version = new Long[1];
    var inPlace = new boolean[1];
    Json.members(
        parser,
        path,
        Code.INVALID_ATTRIBUTE,
        key -> {
          var at = path + "." + key;
          switch (key) {
            case "version" -> version[0] = TensorJson.integer(parser, at, 1);
            case "inPlace" -> inPlace[0] = Json.flag(parser, at, Code.INVALID_ATTRIBUTE);
            case "as", "into", "dtype", "encoding" ->
                fields.put(key, Json.string(parser, at, Code.INVALID_ATTRIBUTE));
            default -> throw Json.unknown(path, key, OUTPUT_KEYS);
          }
        });
    var dtype = fields.get("dtype");
    return new Output(
        new Target(
            destination(path, fields.get("as"), fields.get("into"), version[0], inPlace[0]),
            dtype == null ? null : Tensors.dtype(dtype, path + ".dtype")),
        switch (fields.getOrDefault("encoding", "json")) {
          case "json" -> Encoding.JSON;
          case "base64" -> Encoding.BASE64;
          default -> throw choice(path + ".encoding", fields.get("encoding"), "json or base64");
        });
  }

  private static Destination destination(
      String path,
      @Nullable String as,
      @Nullable String into,
      @Nullable Long version,
      boolean inPlace) {
    if (as != null && !as.equals("inline") && !as.equals("handle")) {
      throw choice(path + ".as", as, "inline or handle");
    }
    if (into != null) {
      if ("inline".equals(as)) {
        throw choice(path + ".as", as, "handle or absent if into is given");
      }
      return new Destination.Into(into, version, inPlace);
    }
    if (version != null || inPlace) {
      var key = path + (inPlace ? ".inPlace" : ".version");
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          key,
          "%s is given without into; it is a condition on the tensor to overwrite".formatted(key));
    }
    return "handle".equals(as) ? new Destination.Keep() : new Destination.Inline();
  }

  private static Failure choice(String path, @Nullable String got, String allowed) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        path,
        "%s is \"%s\"; it must be %s"
            .formatted(path, Tensors.excerpt(String.valueOf(got)), allowed));
  }
}
