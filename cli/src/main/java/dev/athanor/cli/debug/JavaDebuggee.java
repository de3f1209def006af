package dev.athanor.cli.debug;

import dev.athanor.cli.argument.EmulatorArguments;
import dev.athanor.cli.argument.JavaLaunch;
import dev.athanor.cli.argument.JavaLaunchArguments;
import dev.athanor.cli.argument.KernelClasses;
import dev.athanor.engine.debug.Debuggee;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** A launch of a Java kernel, which is lifted without optimization. */
final class JavaDebuggee implements Debuggee {

  /** The class, the launch, and the options of the emulator. */
  @Command(name = "debug")
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Arguments {
    @Parameters(paramLabel = "`class`")
    private String type;

    @Option(names = "--classPath", required = true)
    private List<Path> classPath;

    @Option(names = "--method")
    private @Nullable String method;

    @Option(names = "--unchecked")
    private boolean unchecked;

    @Option(names = "--target")
    private @Nullable String target;

    @Mixin private JavaLaunchArguments launch;

    @Mixin private EmulatorArguments emulator;
  }

  private static final KernelClasses.Labels LABELS =
      new KernelClasses.Labels("`classPath`", "`class`", "`method`");

  private final JavaLaunch launch;
  private final EmulatorOptions options;

  private JavaDebuggee(JavaKernel kernel, Arguments arguments) {
    this.launch = arguments.launch.launch(kernel, !arguments.unchecked);
    var given = arguments.emulator.options();
    this.options = arguments.target == null ? given : given.withTarget(target(arguments.target));
  }

  /**
   * @throws IllegalArgumentException if the arguments are invalid, the kernel does not exist, or it
   *     cannot be lifted
   */
  static JavaDebuggee of(List<String> words) {
    var arguments = RequestWords.read(new Arguments(), words);
    try (var classes = new KernelClasses(arguments.classPath, LABELS)) {
      return new JavaDebuggee(
          classes.kernel(arguments.type, arguments.method).debugged(), arguments);
    } catch (ParameterException e) {
      throw RequestWords.sentence(e);
    } catch (LiftException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot close the class path", e);
    }
  }

  private static Target target(String text) {
    try {
      return Target.of(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("`target` %s: %s".formatted(text, e.getMessage()), e);
    }
  }

  @Override
  public List<Instruction> instructions() {
    return launch.kernel().module(launch.checked()).kernels().getFirst().instructions().toList();
  }

  @Override
  public SymbolTable symbols() {
    return launch.kernel().symbols(launch.checked());
  }

  @Override
  public List<String> warnings() {
    return symbols().methodsWithoutVariables().stream()
        .distinct()
        .map(method ->
            "the variables of %s are not shown: its class file has no LocalVariableTable; compile it with -g"
                .formatted(method))
        .toList();
  }

  @Override
  public EmulatorOptions options() {
    return options;
  }

  @Override
  public void run(EmulatorOptions with, Consumer<NamedBuffer> named) {
    launch.run(
        with,
        (parameter, buffer) ->
            named.accept(new NamedBuffer(parameter.name(), buffer, element(parameter.type()))));
  }

  private static Type element(Class<?> type) {
    return switch (type.getSimpleName()) {
      case "short[]" -> Type.S16;
      case "char[]" -> Type.U16;
      case "int[]" -> Type.S32;
      case "long[]" -> Type.S64;
      case "float[]" -> Type.F32;
      case "double[]" -> Type.F64;
      default -> Type.S8;
    };
  }
}
