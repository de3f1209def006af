package dev.athanor.cli.argument;

import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Module;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of kernels in Java, which positional arguments of the command select. */
public final class JavaKernelArguments {

  private static final String SEPARATOR = "::";

  private static final KernelClasses.Labels LABELS =
      new KernelClasses.Labels("CLASSES", "CLASS", "METHOD");

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Option(
      names = "--checked",
      description = "lifts a kernel in Java with checks of array indices and integer divisors")
  private boolean checked;

  /** Returns whether {@code --checked} is given. */
  public boolean checked() {
    return checked;
  }

  /**
   * Lifts the kernel.
   *
   * @param classPath folders and jars
   * @param kernel {@code CLASS} or {@code CLASS::METHOD}
   * @throws ParameterException if a kernel is not found or cannot be lifted
   */
  public Module module(String classPath, String kernel) {
    var parts = kernel.split(SEPARATOR, 2);
    var method = parts.length == 1 || parts[1].isEmpty() ? null : parts[1];
    var path =
        Stream.of(classPath.split(Pattern.quote(File.pathSeparator), -1)).map(Path::of).toList();
    try (var classes = new KernelClasses(path, LABELS)) {
      return classes.kernel(parts[0], method).module(checked);
    } catch (IllegalArgumentException | LiftException e) {
      throw new ParameterException(command.commandLine(), String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the error message if the only argument is half of the two that select a kernel. */
  public static Optional<String> missing(String only) {
    return only.contains(SEPARATOR)
        ? Optional.of("%s: CLASSES is missing; write target/classes %1$s".formatted(only))
        : Files.exists(Path.of(only))
            ? Optional.of("%s: CLASS is missing; write %1$s Saxpy::saxpy".formatted(only))
            : Optional.empty();
  }
}
