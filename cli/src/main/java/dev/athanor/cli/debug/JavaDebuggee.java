package dev.athanor.cli.debug;

import dev.athanor.cli.argument.EmulatorArguments;
import dev.athanor.cli.argument.Extents;
import dev.athanor.cli.argument.KernelArgument;
import dev.athanor.cli.argument.KernelArgument.Tensor;
import dev.athanor.cli.argument.KernelClasses;
import dev.athanor.engine.debug.Debuggee;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.KernelParameter;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
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

    @Option(names = "--arg")
    private List<String> values = new ArrayList<>();

    @Option(names = "--grid", defaultValue = "1")
    private String grid;

    @Option(names = "--block")
    private @Nullable String block;

    @Option(names = "--shared", defaultValue = "0")
    private int shared;

    @Option(names = "--unchecked")
    private boolean unchecked;

    @Option(names = "--target")
    private @Nullable String target;

    @Mixin private EmulatorArguments emulator;
  }

  private static final KernelClasses.Labels LABELS =
      new KernelClasses.Labels("`classPath`", "`class`", "`method`");

  private final JavaKernel kernel;
  private final List<KernelParameter> parameters;
  private final boolean checked;
  private final Dim3 grid;
  private final Dim3 block;
  private final int shared;

  /** For each parameter, a {@link Tensor} or a boxed primitive. */
  private final List<Object> values;

  private final EmulatorOptions options;

  private JavaDebuggee(JavaKernel kernel, Arguments arguments) {
    this.kernel = kernel;
    this.checked = !arguments.unchecked;
    kernel.module(checked); // while the class path is open
    this.parameters = kernel.parameters();
    this.grid = Extents.parse("`grid`", arguments.grid);
    this.values = values(arguments.values);
    this.block = block(arguments.block);
    this.shared = arguments.shared;
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

  private Dim3 block(@Nullable String text) {
    var declared = kernel.blockSize();
    if (text == null) {
      return declared.orElseThrow(() ->
          new IllegalArgumentException(
              "`block` is missing; %s declares no blockSize".formatted(kernel.name())));
    }
    var wanted = Extents.parse("`block`", text);
    if (declared.isPresent() && !declared.get().equals(wanted)) {
      throw new IllegalArgumentException(
          "`block` %s: %s declares blocks of %s threads; leave it out"
              .formatted(text, kernel.name(), declared.get()));
    }
    return wanted;
  }

  private static Target target(String text) {
    try {
      return Target.of(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("`target` %s: %s".formatted(text, e.getMessage()), e);
    }
  }

  private List<Object> values(List<String> texts) {
    var types = kernel.method().getParameterTypes();
    if (texts.size() != types.length) {
      var wanted = new ArrayList<String>();
      for (int i = 0; i < types.length; i++) {
        wanted.add(types[i].getSimpleName() + " " + parameters.get(i).name());
      }
      throw new IllegalArgumentException(
          "`args` has %d arguments; %s takes %d: %s"
              .formatted(texts.size(), kernel.name(), types.length, String.join(", ", wanted)));
    }
    var found = new ArrayList<Object>();
    for (int i = 0; i < types.length; i++) {
      found.add(JavaArgument.parse(parameters.get(i).name(), types[i], texts.get(i)));
    }
    return found;
  }

  @Override
  public List<Instruction> instructions() {
    return kernel.module(checked).kernels().getFirst().instructions().toList();
  }

  @Override
  public SymbolTable symbols() {
    return kernel.symbols(checked);
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
    try (var device = new EmulatedDevice(with);
        var stream = device.openStream()) {
      var buffers = new ArrayList<Buffer>();
      var given = new ArrayList<Object>();
      var types = kernel.method().getParameterTypes();
      for (int i = 0; i < types.length; i++) {
        if (values.get(i) instanceof Tensor tensor) {
          var _ = tensor.on(device, stream, buffers);
          given.add(buffers.getLast());
          named.accept(
              new NamedBuffer(parameters.get(i).name(), buffers.getLast(), element(types[i])));
        } else {
          given.add(values.get(i));
        }
      }
      stream.synchronize();
      kernel
          .on(device)
          .checked(checked)
          .block(block)
          .dynamicShared(shared)
          .launch(grid, given.toArray());
      var tensors = values.stream().flatMap(JavaDebuggee::tensor).toList();
      KernelArgument.write(tensors, buffers, stream);
    }
  }

  private static Stream<KernelArgument> tensor(Object value) {
    return value instanceof Tensor tensor ? Stream.of(tensor) : Stream.empty();
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
