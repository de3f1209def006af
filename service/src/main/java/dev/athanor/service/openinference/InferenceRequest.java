package dev.athanor.service.openinference;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.View;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An inference request, independent of REST or gRPC. Parameter values are {@link Boolean}, {@link
 * Number}, {@link String} or a list of numbers.
 *
 * @param outputs the requested outputs; empty for all
 * @param encodable the dtypes that the response can encode if no outputs are named
 */
public record InferenceRequest(
    Map<String, Object> parameters,
    List<Input> inputs,
    List<Output> outputs,
    Set<DType> encodable) {

  /**
   * The parameter with the handle of a resident input, or of the tensor that an output overwrites.
   */
  public static final String TENSOR_HANDLE = "tensor_handle";

  /** The parameter with the index of the first element to read of a resident input. */
  public static final String TENSOR_OFFSET = "tensor_offset";

  /** The parameter with the distance of elements along each dimension of a resident input. */
  public static final String TENSOR_STRIDES = "tensor_strides";

  /** The parameter of an output that is kept on the device. */
  public static final String TENSOR_STORE = "tensor_store";

  /** The parameter with the number of raw bytes of an input after the JSON. */
  public static final String BINARY_DATA_SIZE = "binary_data_size";

  /** The parameter that requests an output as raw bytes. */
  public static final String BINARY_DATA = "binary_data";

  /** The parameter that requests all outputs as raw bytes. */
  public static final String BINARY_DATA_OUTPUT = "binary_data_output";

  /** The parameter of a streamed request that asks to mark its final response. */
  public static final String FINAL_RESPONSE_WANTED = "triton_enable_empty_final_response";

  private static final String SHARED_MEMORY = "shared_memory_";
  private static final String CLASSIFICATION = "classification";

  private static final int MAX_ID_LENGTH = 1024;

  public InferenceRequest {
    parameters = Map.copyOf(parameters);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    encodable = Set.copyOf(encodable);
  }

  /** An input, with the name that the client used. */
  public sealed interface Input {
    String name();

    /** Data sent with the request. */
    record Data(String name, HostTensor tensor) implements Input {}

    /** A resident tensor, which must match the dtype if given, or a view of it. */
    record Handle(String name, String handle, @Nullable DType dtype, @Nullable View view)
        implements Input {}
  }

  /** A requested output. */
  public record Output(String name, Destination destination) {}

  /**
   * Resolves the name or an alias of an input.
   *
   * @param taken the names of preceding inputs
   * @throws Failure.Refused with {@code unknown-field}, or with {@code invalid-tensor} for a
   *     duplicate
   */
  public static String inputName(ServedModel model, String given, Collection<String> taken) {
    return name("inputs", given, model.input(given), model.inputs(), taken);
  }

  /** Resolves the name of an output, like {@link #inputName}. */
  public static String outputName(ServedModel model, String given, Collection<String> taken) {
    return name("outputs", given, model.output(given), model.outputs(), taken);
  }

  private static String name(
      String list,
      String given,
      Optional<String> known,
      List<String> all,
      Collection<String> taken) {
    var field = list + "." + Tensors.excerpt(given);
    var own =
        known.orElseThrow(() ->
            new Failure.Refused(
                Code.UNKNOWN_FIELD,
                field,
                "%s is unknown; the %s are %s".formatted(field, list, String.join(", ", all))));
    if (taken.contains(own)) {
      throw new Failure.Refused(
          Code.INVALID_TENSOR, field, "%s is given twice; give it once".formatted(field));
    }
    return own;
  }

  /**
   * Returns the handle from the parameters of an input; null if absent.
   *
   * @param field the path of the input in the request
   * @throws Failure.Refused with {@code unknown-field} for any other parameter
   */
  public static @Nullable String handle(Map<String, Object> parameters, String field) {
    checkNames(parameters, field, List.of(TENSOR_HANDLE, TENSOR_OFFSET, TENSOR_STRIDES));
    return text(parameters, field);
  }

  /**
   * Returns what to read of a resident input, by its parameters; null for all of it.
   *
   * @param shape the shape of the input; null if absent
   * @param field the path of the input in the request
   */
  public static @Nullable View view(
      Map<String, Object> parameters, @Nullable List<Long> shape, String field) {
    var offset =
        switch (parameters.get(TENSOR_OFFSET)) {
          case null -> null;
          case Integer value when value >= 0 -> (Long) (long) value;
          case Long value when value >= 0 -> value;
          case Object other ->
              throw invalid(
                  field + ".parameters." + TENSOR_OFFSET,
                  other,
                  "must be an integer of at least 0");
        };
    return View.of(shape, offset, strides(parameters.get(TENSOR_STRIDES), field));
  }

  private static @Nullable List<Long> strides(@Nullable Object given, String field) {
    if (given == null) {
      return null;
    }
    var texts =
        given instanceof List<?> list
            ? list.stream().map(Object::toString).toList()
            : given.toString().isEmpty()
                ? List.<String>of()
                : List.of(given.toString().split(",", -1));
    try {
      return texts.stream().map(Long::valueOf).toList();
    } catch (NumberFormatException e) {
      throw invalid(
          field + ".parameters." + TENSOR_STRIDES, given, "must be integers such as \"256,1\"");
    }
  }

  /**
   * Returns the destination of an output from its parameters, and removes the flag.
   *
   * @param field the path of the output in the request
   * @param encodable the dtypes that the response can encode
   * @throws Failure.Refused with {@code unknown-field} for any other parameter
   */
  public static Destination destination(
      Map<String, Object> parameters, String field, Set<DType> encodable) {
    checkNames(parameters, field, List.of(TENSOR_HANDLE, TENSOR_STORE));
    var into = text(parameters, field);
    var store = takeFlag(parameters, TENSOR_STORE, field + ".parameters");
    if (into != null) {
      return new Destination.Into(into);
    }
    return Boolean.TRUE.equals(store) ? new Destination.Keep() : new Destination.Inline(encodable);
  }

  /**
   * Removes and returns a flag; null if absent.
   *
   * @param field the path of the parameters in the request
   * @throws Failure.Refused with {@code invalid-attribute} unless it is true or false
   */
  public static @Nullable Boolean takeFlag(
      Map<String, Object> parameters, String name, String field) {
    return switch (parameters.remove(name)) {
      case null -> null;
      case Boolean flag -> flag;
      case Object other -> throw invalid(field + "." + name, other, "must be true or false");
    };
  }

  private static @Nullable String text(Map<String, Object> parameters, String field) {
    return switch (parameters.get(TENSOR_HANDLE)) {
      case null -> null;
      case String handle -> handle;
      case Object other ->
          throw invalid(
              field + ".parameters." + TENSOR_HANDLE, other, "must be a string such as \"t_…\"");
    };
  }

  private static void checkNames(
      Map<String, Object> parameters, String field, Collection<String> known) {
    for (var name : parameters.keySet()) {
      if (!known.contains(name)) {
        var path = field + ".parameters." + Tensors.excerpt(name);
        throw new Failure.Refused(Code.UNKNOWN_FIELD, path, refusal(name, path, known));
      }
    }
  }

  private static String refusal(String name, String path, Collection<String> known) {
    if (name.startsWith(SHARED_MEMORY)) {
      return path + " is not supported. " + Unsupported.INSTEAD;
    }
    if (name.equals(CLASSIFICATION)) {
      return path + " is not supported. Read the output and rank it in the client.";
    }
    return "%s is unknown; known parameters are %s".formatted(path, String.join(", ", known));
  }

  /**
   * Removes and returns the declared number of raw bytes of an input; null if absent.
   *
   * @param field the path of the input in the request
   * @throws Failure.Refused with {@code invalid-attribute} unless it is an integer of at least 0
   */
  public static @Nullable Long takeSize(Map<String, Object> parameters, String field) {
    return switch (parameters.remove(BINARY_DATA_SIZE)) {
      case null -> null;
      case Integer size when size >= 0 -> (long) size;
      case Long size when size >= 0 -> size;
      case Object other ->
          throw invalid(
              field + ".parameters." + BINARY_DATA_SIZE, other, "must be an integer of at least 0");
    };
  }

  /**
   * Checks the declared number of raw bytes of an input against its type.
   *
   * @param field the path of the input in the request
   * @throws Failure.Refused with {@code invalid-tensor} if they differ
   */
  public static void checkSize(long bytes, TensorType type, String field) {
    if (bytes != type.bytes()) {
      var at = field + ".parameters." + BINARY_DATA_SIZE;
      throw new Failure.Refused(
          Code.INVALID_TENSOR,
          at,
          "%s is %d, but %s%s needs %d bytes"
              .formatted(at, bytes, Datatypes.name(type.dtype()), type.shape(), type.bytes()));
    }
  }

  /** Returns the failure for an input with both a handle and data. */
  public static Failure handleAndData(String field) {
    return new Failure.Refused(
        Code.INVALID_TENSOR,
        field,
        "%s has both a tensor_handle and data; give only one".formatted(field));
  }

  static Failure invalid(String field, Object value, String requirement) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "%s is %s; it %s"
            .formatted(
                field,
                value instanceof String text
                    ? "\"" + Tensors.excerpt(text) + "\""
                    : Tensors.excerpt(value.toString()),
                requirement));
  }

  /**
   * Checks an id, which the response repeats.
   *
   * @throws Failure.Refused with {@code invalid-attribute} if it is too long or cannot be encoded
   */
  public static String checkedId(String id) {
    if (id.length() > MAX_ID_LENGTH) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "id",
          "id has %d characters; the limit is %d".formatted(id.length(), MAX_ID_LENGTH));
    }
    if (id.codePoints()
        .anyMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "id",
          "id contains an unpaired surrogate, which is not a character");
    }
    return id;
  }
}
