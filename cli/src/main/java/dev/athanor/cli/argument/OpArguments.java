package dev.athanor.cli.argument;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The arguments that select an op, the types of its inputs, and its attributes. */
public final class OpArguments {

  private static final Pattern SHAPE = Pattern.compile("(\\d{1,18}(,\\d{1,18})*)?");

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Parameters(index = "0", paramLabel = "OP", description = "the op")
  @SuppressWarnings("NullAway.Init")
  private String name;

  @Option(
      names = "--shape",
      paramLabel = "INPUT=SHAPE",
      description =
          "the shape of an input, such as a=4096,4096, or scale= for a number; required for each"
              + " input in use")
  private Map<String, String> shapes = new LinkedHashMap<>();

  @Option(
      names = "--dtype",
      paramLabel = "INPUT=DTYPE",
      description = "the dtype of an input, such as a=f16; default: f32")
  private Map<String, String> dtypes = new LinkedHashMap<>();

  @Option(
      names = "--attr",
      paramLabel = "NAME=VALUE",
      description = "an attribute, such as transposeB=true; lists are written axes=0,2")
  private Map<String, String> attributes = new LinkedHashMap<>();

  /** Returns the name of the op as given. */
  public String name() {
    return name;
  }

  /**
   * Returns the plans of a device for the op, the planner's choice first.
   *
   * @throws ParameterException if the op is unknown or rejects the arguments
   */
  public List<? extends Plan> plans(Catalogue catalogue, Capability capability) {
    return plans(problem(catalogue), capability);
  }

  /**
   * Returns the plans of a device for a problem, the planner's choice first.
   *
   * @throws ParameterException if the op rejects the problem
   */
  public List<? extends Plan> plans(Problem problem, Capability capability) {
    try {
      return problem.plans(capability);
    } catch (OpException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  /**
   * Returns the op with its arguments, after a check of their names and dtypes.
   *
   * @throws ParameterException if the op is unknown or rejects the arguments
   */
  public Problem problem(Catalogue catalogue) {
    Op op = catalogue.find(name).orElseThrow(() -> usageError(unknown(catalogue, name)));
    for (var input : dtypes.keySet()) {
      if (!shapes.containsKey(input)) {
        throw usageError(
            "--dtype %s=%s: --shape %s=… is missing".formatted(input, dtypes.get(input), input));
      }
    }
    try {
      var types = op.description().byName(types());
      Catalogue.checkInputs(op.description(), types);
      return new Problem(op, types, Attributes.of(op.description(), attributes));
    } catch (OpException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  /**
   * Returns the types of the given inputs.
   *
   * @throws ParameterException if a shape or dtype is invalid
   */
  Map<String, TensorType> types() {
    var types = new LinkedHashMap<String, TensorType>();
    shapes.forEach((input, text) -> {
      var dtype = dtype(input);
      var shape = shape(input, text);
      try {
        types.put(input, new TensorType(dtype, shape));
      } catch (IllegalArgumentException e) {
        throw usageError("--shape %s=%s: %s".formatted(input, text, e.getMessage()));
      }
    });
    return types;
  }

  private DType dtype(String input) {
    var text = dtypes.getOrDefault(input, DType.F32.text());
    return DType.of(text)
        .orElseThrow(() ->
            usageError("--dtype %s=%s: expected one of %s".formatted(input, text, DType.names())));
  }

  private Shape shape(String input, String text) {
    if (!SHAPE.matcher(text).matches()) {
      throw usageError(
          "--shape %s=%s: expected comma-separated integers, such as 4096,4096"
              .formatted(input, text));
    }
    var extents = text.isEmpty() ? Stream.<String>empty() : Stream.of(text.split(",", -1));
    return Shape.of(extents.mapToLong(Long::parseLong).toArray());
  }

  /** Returns the error message for an unknown op. */
  public static String unknown(Catalogue catalogue, String wanted) {
    return unknown(catalogue.all().stream().map(op -> op.description().name()).toList(), wanted);
  }

  /** Returns the error message for an op that is not among the given names. */
  public static String unknown(List<String> names, String wanted) {
    return "unknown op \"%s\"; %s"
        .formatted(wanted, UsageErrorHandler.hint(wanted, names, "athanor ops lists the ops"));
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(command.commandLine(), sentence);
  }
}
