package dev.athanor.cli.argument;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.JavaKernel;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that describe a launch of a kernel in Java. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class JavaLaunchArguments {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--arg",
      paramLabel = "ARGUMENT",
      description =
          "a parameter's value of a kernel in Java, in order: a number, true, a character, the name of"
              + " an enum constant, or for an array or segment in:FILE.npy, inout:FILE.npy,"
              + " out:FILE.npy:DTYPE:SHAPE or zeros:BYTES")
  private List<String> values = new ArrayList<>();

  @Option(
      names = "--grid",
      paramLabel = "X[,Y[,Z]]",
      defaultValue = "1",
      description = "blocks per grid of a kernel in Java; default: ${DEFAULT-VALUE}")
  private String grid;

  @Option(
      names = "--block",
      paramLabel = "X[,Y[,Z]]",
      description = "threads per block of a kernel in Java; default: its blockSize")
  private @Nullable String block;

  @Option(
      names = "--shared",
      paramLabel = "BYTES",
      defaultValue = "0",
      description = "dynamic shared memory of a kernel in Java; default: ${DEFAULT-VALUE}")
  private int shared;

  /**
   * Returns the launch of a kernel. Lifts the kernel and reads the files that the arguments name.
   *
   * @param checked whether array indices and integer divisors are checked
   * @throws ParameterException if an argument is invalid
   * @throws dev.athanor.engine.lift.refusal.LiftException if the kernel cannot be lifted
   */
  public JavaLaunch launch(JavaKernel kernel, boolean checked) {
    try {
      kernel.module(checked);
      var blocks = Extents.parse("--grid", grid);
      var found = values(kernel);
      return new JavaLaunch(kernel, checked, blocks, block(kernel), shared, found);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }

  private Dim3 block(JavaKernel kernel) {
    var declared = kernel.blockSize();
    if (block == null) {
      return declared.orElseThrow(() ->
          new IllegalArgumentException(
              "--block is missing; %s declares no blockSize".formatted(kernel.name())));
    }
    var wanted = Extents.parse("--block", block);
    if (declared.isPresent() && !declared.get().equals(wanted)) {
      throw new IllegalArgumentException(
          "--block %s: %s declares blocks of %s threads; leave it out"
              .formatted(block, kernel.name(), declared.get()));
    }
    return wanted;
  }

  private List<Object> values(JavaKernel kernel) {
    var parameters = kernel.parameters();
    if (values.size() != parameters.size()) {
      var wanted =
          parameters.stream().map(each -> each.type().getSimpleName() + " " + each.name()).toList();
      throw new IllegalArgumentException(
          "--arg: got %d arguments; %s takes %d: %s"
              .formatted(
                  values.size(), kernel.name(), parameters.size(), String.join(", ", wanted)));
    }
    var found = new ArrayList<Object>();
    for (int i = 0; i < values.size(); i++) {
      var parameter = parameters.get(i);
      found.add(JavaArgument.parse(parameter.name(), parameter.type(), values.get(i)));
    }
    return found;
  }
}
