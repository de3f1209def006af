package dev.athanor.cli.argument;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * The arguments that describe a launch of a kernel from a PTX file. Methods throw {@link
 * ParameterException} if an argument is invalid.
 */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ProgramArguments {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Parameters(paramLabel = "FILE.ptx", description = "the PTX file")
  private Path file;

  @Option(
      names = "--kernel",
      paramLabel = "NAME",
      description = "the kernel; default: the only one")
  private @Nullable String kernel;

  @Option(
      names = "--grid",
      paramLabel = "X[,Y[,Z]]",
      defaultValue = "1",
      description = "blocks per grid; default: ${DEFAULT-VALUE}")
  private String grid;

  @Option(
      names = "--block",
      paramLabel = "X[,Y[,Z]]",
      required = true,
      description = "threads per block")
  private String block;

  @Option(
      names = "--cluster",
      paramLabel = "X[,Y[,Z]]",
      description = "blocks per cluster; default: as the kernel declares")
  private @Nullable String cluster;

  @Option(
      names = "--cooperative",
      description = "cooperative launch: all blocks are resident and may synchronize (grid.sync())")
  private boolean cooperative;

  @Option(
      names = "--shared",
      paramLabel = "BYTES",
      defaultValue = "0",
      description = "dynamic shared memory; default: ${DEFAULT-VALUE}")
  private int shared;

  @Option(
      names = "--target",
      paramLabel = "TARGET",
      description = "the target to emulate, such as sm_90a; default: the target of the file")
  private @Nullable String target;

  @Option(
      names = "--arg",
      paramLabel = "ARGUMENT",
      description = {
        "a parameter's value, in order: TYPE:VALUE, in:FILE.npy, out:FILE.npy:DTYPE:SHAPE,",
        "inout:FILE.npy, zeros:BYTES (a buffer), bytes:FILE (an array by value), or a tensor map"
            + " of",
        "tiles, tensormap:BOX:swizzle=128:in:FILE.npy (or out:, inout:)"
      })
  private List<String> arguments = new ArrayList<>();

  /** Parses the file. */
  public Module module() {
    try {
      return Parser.parse(Files.readString(file), file.toString());
    } catch (IOException e) {
      throw usageError("cannot read file " + file, e);
    } catch (PtxSyntaxException e) {
      throw usageError(String.valueOf(e.getMessage()), e);
    }
  }

  /** Returns the chosen kernel of the file. */
  public Kernel kernel(Module module) {
    var names = module.kernels().stream().map(Kernel::name).collect(Collectors.joining(", "));
    if (kernel == null) {
      if (module.kernels().size() != 1) {
        throw usageError("--kernel is required; the file has " + names, null);
      }
      return module.kernels().getFirst();
    }
    return module
        .kernel(kernel)
        .orElseThrow(
            () -> usageError("--kernel %s: the file has %s".formatted(kernel, names), null));
  }

  /** Parses the arguments and reads the files that they name. */
  public List<KernelArgument> values() {
    try {
      return arguments.stream().map(KernelArgument::parse).toList();
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()), e);
    }
  }

  /** Returns the given target, or the target of the file. */
  public Target target(Module module) {
    if (target == null) {
      return module.target();
    }
    try {
      return Target.of(target);
    } catch (IllegalArgumentException e) {
      throw usageError("--target: " + e.getMessage(), e);
    }
  }

  /** Returns the launch of a loaded kernel. */
  public Launch launch(LoadedKernel kernelOnDevice, List<Argument> given) {
    var blocks = dim(grid, "--grid");
    var threads = dim(block, "--block");
    var launch =
        cluster == null
            ? new Launch(kernelOnDevice, blocks, threads, shared, given)
            : new Launch(kernelOnDevice, blocks, threads, dim(cluster, "--cluster"), shared, given);
    return cooperative ? launch.asCooperative() : launch;
  }

  private Dim3 dim(String text, String option) {
    try {
      return Extents.parse(option, text);
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()), e);
    }
  }

  private ParameterException usageError(String sentence, @Nullable Throwable cause) {
    return new ParameterException(spec.commandLine(), sentence, cause);
  }
}
