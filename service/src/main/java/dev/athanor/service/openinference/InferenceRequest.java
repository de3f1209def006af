package dev.athanor.service.openinference;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a client asks a model for, in either form of the protocol. Values of parameters are {@link
 * Boolean}, {@link Number} or {@link String}.
 *
 * @param outputs those that are asked for; none for all of them
 * @param readable the dtypes that the answer can have where no outputs are named
 */
public record InferenceRequest(
    Map<String, Object> parameters, List<Input> inputs, List<Output> outputs, Set<DType> readable) {

  /** The parameter of an input whose tensor is resident, and of an output to write into one. */
  public static final String TENSOR_HANDLE = "tensor_handle";

  /** The parameter of an output that stays on the device. */
  public static final String TENSOR_STORE = "tensor_store";

  /** The parameter of an input that says how many bytes it has outside of the JSON. */
  public static final String BINARY_DATA_SIZE = "binary_data_size";

  /** The parameter of an output that asks for bytes instead of JSON. */
  public static final String BINARY_DATA = "binary_data";

  /** The parameter of a request that asks for all outputs as bytes. */
  public static final String BINARY_DATA_OUTPUT = "binary_data_output";

  /** The parameter of a request on a stream that asks which of its answers is the last. */
  public static final String FINAL_RESPONSE_WANTED = "triton_enable_empty_final_response";

  private static final String SHARED_MEMORY = "shared_memory_";
  private static final String CLASSIFICATION = "classification";

  private static final int LONGEST_ID = 1024;

  public InferenceRequest {
    parameters = Map.copyOf(parameters);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    readable = Set.copyOf(readable);
  }

  /** An input, by the name that the client gave it. */
  public sealed interface Input {
    String name();

    /** Data that came with the request. */
    record Data(String name, HostTensor tensor) implements Input {}

    /** A resident tensor, which must have the dtype and the shape if the client gave them. */
    record Handle(String name, String handle, @Nullable DType dtype, @Nullable List<Long> shape)
        implements Input {}
  }

  /** An output that is asked for. */
  public record Output(String name, Destination destination) {}

  /**
   * The op's own name of an input.
   *
   * @param taken those that came before
   * @throws Failure.Refused with {@code unknown-field}, or {@code invalid-tensor} when it is taken
   */
  public static String inputName(OpDescription op, String given, Collection<String> taken) {
    return name(
        "inputs",
        given,
        op.input(given).map(OpDescription.Input::name),
        op.inputs().stream().map(OpDescription.Input::name),
        taken);
  }

  /** The op's own name of an output, as {@link #inputName} has it of an input. */
  public static String outputName(OpDescription op, String given, Collection<String> taken) {
    return name(
        "outputs",
        given,
        op.output(given).map(OpDescription.Output::name),
        op.outputs().stream().map(OpDescription.Output::name),
        taken);
  }

  private static String name(
      String list,
      String given,
      Optional<String> known,
      Stream<String> all,
      Collection<String> taken) {
    var field = list + "." + Tensors.excerpt(given);
    var own =
        known.orElseThrow(() ->
            new Failure.Refused(
                Code.UNKNOWN_FIELD,
                field,
                "%s is not known; %s are %s"
                    .formatted(field, list, all.collect(Collectors.joining(", ")))));
    if (taken.contains(own)) {
      throw new Failure.Refused(
          Code.INVALID_TENSOR, field, "%s is there twice; each may be there once".formatted(field));
    }
    return own;
  }

  /**
   * The handle among the parameters of an input; null when it has none.
   *
   * @param field where the input stands in the request
   * @throws Failure.Refused with {@code unknown-field} for any other parameter
   */
  public static @Nullable String handle(Map<String, Object> parameters, String field) {
    checkNames(parameters, field, List.of(TENSOR_HANDLE));
    return text(parameters, field);
  }

  /**
   * Where an output goes by its parameters, some of which are removed.
   *
   * @param field where the output stands in the request
   * @param readable the dtypes that the answer can have
   * @throws Failure.Refused with {@code unknown-field} for parameters that say nothing of this
   */
  public static Destination destination(
      Map<String, Object> parameters, String field, Set<DType> readable) {
    checkNames(parameters, field, List.of(TENSOR_HANDLE, TENSOR_STORE));
    var into = text(parameters, field);
    var store = takeFlag(parameters, TENSOR_STORE, field + ".parameters");
    if (into != null) {
      return new Destination.Into(into);
    }
    return Boolean.TRUE.equals(store) ? new Destination.Keep() : new Destination.Inline(readable);
  }

  /**
   * Removes a flag; null when it is missing.
   *
   * @param field where the parameters stand in the request
   * @throws Failure.Refused with {@code invalid-attribute} when it is neither true nor false
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
    return "%s is not known; parameters here are %s".formatted(path, String.join(", ", known));
  }

  /**
   * Removes the number of bytes that an input says it has; null when it says nothing.
   *
   * @param field where the input stands in the request
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
   * Checks the number of bytes that an input says it has against its type.
   *
   * @param field where the input stands in the request
   * @throws Failure.Refused with {@code invalid-tensor} when they differ
   */
  public static void checkSize(long bytes, TensorType type, String field) {
    if (bytes != type.bytes()) {
      var at = field + ".parameters." + BINARY_DATA_SIZE;
      throw new Failure.Refused(
          Code.INVALID_TENSOR,
          at,
          "%s is %d, but %s%s takes %d bytes"
              .formatted(at, bytes, Datatypes.name(type.dtype()), type.shape(), type.bytes()));
    }
  }

  /** The refusal of an input that is both of its kinds. */
  public static Failure handleAndData(String field) {
    return new Failure.Refused(
        Code.INVALID_TENSOR,
        field,
        "%s has a tensor_handle and data; it must have one of them".formatted(field));
  }

  static Failure invalid(String field, Object value, String right) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "%s is %s; it %s"
            .formatted(
                field,
                value instanceof String text ? "\"" + Tensors.excerpt(text) + "\"" : value,
                right));
  }

  /**
   * Checks an id, which is given back as it came.
   *
   * @throws Failure.Refused with {@code invalid-attribute} when it is too long, or no text that an
   *     answer could repeat
   */
  public static String checkedId(String id) {
    if (id.length() > LONGEST_ID) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "id",
          "id has %d characters; %d are the most".formatted(id.length(), LONGEST_ID));
    }
    if (id.codePoints()
        .anyMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE, "id", "id has half of a surrogate pair, which is no character");
    }
    return id;
  }
}
