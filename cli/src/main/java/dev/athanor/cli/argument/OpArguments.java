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
import java.util.stream.LongStream;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * An op with the types of its inputs and its attributes, as commands that run nothing take them.
 */
public final class OpArguments {

  private static final Pattern SHAPE = Pattern.compile("\\d{1,18}(,\\d{1,18})*");

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Parameters(paramLabel = "OP", description = "the op")
  @SuppressWarnings("NullAway.Init")
  private String name;

  @Option(
      names = "--shape",
      paramLabel = "INPUT=SHAPE",
      description = "the shape of an input, a=4096,4096; give one for every input that is there")
  private Map<String, String> shapes = new LinkedHashMap<>();

  @Option(
      names = "--dtype",
      paramLabel = "INPUT=DTYPE",
      description = "the dtype of an input, a=f16; f32 where none is given")
  private Map<String, String> dtypes = new LinkedHashMap<>();

  @Option(
      names = "--attr",
      paramLabel = "NAME=VALUE",
      description = "an attribute, transposeB=true")
  private Map<String, String> attributes = new LinkedHashMap<>();

  /**
   * The ways in which a device can compute the op, the first as it would.
   *
   * @throws ParameterException when there is no such op or it does not take the arguments
   */
  public List<? extends Plan> plans(Catalogue catalogue, Capability capability) {
    return plans(problem(catalogue), capability);
  }

  /**
   * The ways in which a device can compute a problem.
   *
   * @throws ParameterException when the op does not take it
   */
  public List<? extends Plan> plans(Problem problem, Capability capability) {
    try {
      return problem.plans(capability);
    } catch (OpException e) {
      throw refused(String.valueOf(e.getMessage()));
    }
  }

  /**
   * The op with its arguments, their names and dtypes checked.
   *
   * @throws ParameterException when there is no such op or it does not take the arguments
   */
  public Problem problem(Catalogue catalogue) {
    Op op = catalogue.find(name).orElseThrow(() -> refused(unknown(catalogue, name)));
    for (var input : dtypes.keySet()) {
      if (!shapes.containsKey(input)) {
        throw refused(
            "--dtype %s=%s: there is no --shape %s=…".formatted(input, dtypes.get(input), input));
      }
    }
    try {
      var types = op.description().byName(types());
      Catalogue.checkInputs(op.description(), types);
      return new Problem(op, types, Attributes.of(op.description(), attributes));
    } catch (OpException e) {
      throw refused(String.valueOf(e.getMessage()));
    }
  }

  /**
   * The types of the inputs that are given.
   *
   * @throws ParameterException when a shape or a dtype is none
   */
  Map<String, TensorType> types() {
    var types = new LinkedHashMap<String, TensorType>();
    shapes.forEach((input, text) -> {
      var dtype = dtype(input);
      var shape = shape(input, text);
      try {
        types.put(input, new TensorType(dtype, shape));
      } catch (IllegalArgumentException e) {
        throw refused("--shape %s=%s: %s".formatted(input, text, e.getMessage()));
      }
    });
    return types;
  }

  private DType dtype(String input) {
    var text = dtypes.getOrDefault(input, DType.F32.text());
    return DType.of(text)
        .orElseThrow(
            () -> refused("--dtype %s=%s: dtypes are %s".formatted(input, text, DType.names())));
  }

  private Shape shape(String input, String text) {
    if (!SHAPE.matcher(text).matches()) {
      throw refused(
          "--shape %s=%s: a shape is integers with commas between, 4096,4096"
              .formatted(input, text));
    }
    return Shape.of(
        Stream.of(text.split(",", -1))
            .flatMapToLong(e -> LongStream.of(Long.parseLong(e)))
            .toArray());
  }

  /** The sentence for a name that no op has. */
  public static String unknown(Catalogue catalogue, String wanted) {
    var names = catalogue.all().stream().map(op -> op.description().name()).toList();
    return "there is no op \"%s\"; %s"
        .formatted(wanted, BadUse.hint(wanted, names, "athanor ops lists them"));
  }

  private ParameterException refused(String sentence) {
    return new ParameterException(command.commandLine(), sentence);
  }
}
