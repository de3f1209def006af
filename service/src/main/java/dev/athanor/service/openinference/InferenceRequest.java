package dev.athanor.service.openinference;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
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
   * Where an output goes by its parameters.
   *
   * @param field where the output stands in the request
   * @param readable the dtypes that the answer can have
   * @throws Failure.Refused with {@code unknown-field} for parameters that say nothing of this
   */
  public static Destination destination(
      Map<String, Object> parameters, String field, Set<DType> readable) {
    checkNames(parameters, field, List.of(TENSOR_HANDLE, TENSOR_STORE));
    var into = text(parameters, field);
    boolean store = flag(parameters, TENSOR_STORE, field + ".parameters");
    if (into != null) {
      return new Destination.Into(into);
    }
    return store ? new Destination.Keep() : new Destination.Inline(readable);
  }

  /**
   * A parameter that is true or false; false when it is missing.
   *
   * @param field where the parameters stand in the request
   */
  public static boolean flag(Map<String, Object> parameters, String name, String field) {
    return switch (parameters.get(name)) {
      case null -> false;
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
        throw new Failure.Refused(
            Code.UNKNOWN_FIELD,
            path,
            "%s is not known; parameters here are %s".formatted(path, String.join(", ", known)));
      }
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
