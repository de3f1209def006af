package dev.athanor.cli.argument;

import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Module;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of kernels in Java, which positional arguments of the command select. */
public final class JavaKernelArguments {

  private static final String SEPARATOR = "::";

  private static final KernelClasses.Labels LABELS =
      new KernelClasses.Labels("CLASSES", "CLASS", "METHOD");

  /** The options that only kernels in Java have, in any command. */
  private static final List<String> OPTIONS =
      List.of("--checked", "--arg", "--grid", "--block", "--shared");

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Option(
      names = "--checked",
      description = "lifts a kernel in Java with checks of array indices and integer divisors")
  private boolean checked;

  /**
   * Lifts the kernel.
   *
   * @param classPath folders and jars
   * @param kernel {@code CLASS} or {@code CLASS::METHOD}
   * @throws ParameterException if a kernel is not found or cannot be lifted
   */
  public Module module(String classPath, String kernel) {
    return found(classPath, kernel, each -> each.module(checked));
  }

  /**
   * Returns a launch of the kernel.
   *
   * @param classPath folders and jars
   * @param kernel {@code CLASS} or {@code CLASS::METHOD}
   * @throws ParameterException if a kernel is not found or cannot be lifted, or an argument of the
   *     launch is invalid
   */
  public JavaLaunch launch(String classPath, String kernel, JavaLaunchArguments arguments) {
    return found(classPath, kernel, each -> arguments.launch(each, checked));
  }

  /** Applies a function to the kernel while its class path is open. */
  private <T> T found(String classPath, String kernel, Function<JavaKernel, T> function) {
    var parts = kernel.split(SEPARATOR, 2);
    var method = parts.length == 1 || parts[1].isEmpty() ? null : parts[1];
    try (var classes = new KernelClasses(path(classPath).toList(), LABELS)) {
      return function.apply(classes.kernel(parts[0], method));
    } catch (IllegalArgumentException | LiftException e) {
      throw usageError(String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<Path> path(String classPath) {
    return Stream.of(classPath.split(Pattern.quote(File.pathSeparator), -1)).map(Path::of);
  }

  /** Returns whether two words, the first of which is no op, select a kernel. */
  public static boolean select(String classPath, String kernel) {
    return kernel.contains(SEPARATOR)
        || (!classPath.contains(SEPARATOR) && path(classPath).anyMatch(Files::exists));
  }

  /**
   * Refuses the options of ops.
   *
   * @param kernel the kernel as given
   * @throws ParameterException if one is given
   */
  public void refuseOptionsOfOps(String kernel, List<String> options) {
    refuse(options, "ops, and %s is a kernel in Java".formatted(kernel));
  }

  /**
   * Refuses the options of kernels in Java.
   *
   * @param given what is given instead, such as {@code matmul is an op}
   * @throws ParameterException if one is given
   */
  public void refuseOptionsOfKernels(String given) {
    refuse(OPTIONS, "kernels in Java, and " + given);
  }

  private void refuse(List<String> options, String reason) {
    var given = command.commandLine().getParseResult();
    options.stream()
        .filter(given::hasMatchedOption)
        .findFirst()
        .ifPresent(option -> {
          throw usageError("%s applies to %s; leave it out".formatted(option, reason), null);
        });
  }

  private ParameterException usageError(String sentence, @Nullable Throwable cause) {
    return new ParameterException(command.commandLine(), sentence, cause);
  }

  /**
   * Refuses a word that is half of the two that select a kernel.
   *
   * @param only a word that is no op
   * @throws ParameterException if it names a kernel, folder or jar
   */
  public void requireBothArguments(String only) {
    if (only.contains(SEPARATOR)) {
      throw usageError("%s: CLASSES is missing; write target/classes %1$s".formatted(only), null);
    }
    if (Files.exists(Path.of(only))) {
      throw usageError("%s: CLASS is missing; write %1$s Saxpy::saxpy".formatted(only), null);
    }
  }
}
