package dev.athanor.cli.command;

import dev.athanor.cli.project.PluginProject;
import dev.athanor.cli.report.Build;
import dev.athanor.ops.Catalogue;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import javax.lang.model.SourceVersion;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor new NAME}. */
@Command(
    name = "new",
    description = "Creates a Maven project of a plugin with one op, whose kernel is a Java method.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
public final class NewCommand implements Callable<Integer> {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9]*(-[a-z0-9]+)*");
  private static final Pattern PACKAGE = Pattern.compile("[a-z_][a-z0-9_]*(\\.[a-z_][a-z0-9_]*)*");
  private static final int LONGEST_NAME = 64;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Parameters(paramLabel = "NAME", description = "the name of the op, such as my-op")
  @SuppressWarnings("NullAway.Init")
  private String name;

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "the folder of the project, new or empty; default: NAME")
  private @Nullable Path folder;

  @Option(
      names = "--package",
      paramLabel = "PACKAGE",
      defaultValue = "com.example",
      description = "the package of the classes; default: ${DEFAULT-VALUE}")
  @SuppressWarnings("NullAway.Init")
  private String packageName;

  @Override
  public Integer call() {
    check();
    var target = folder == null ? Path.of(name) : folder;
    var project = new PluginProject(name, packageName, Build.current().version(), repository());
    var out = spec.commandLine().getOut();
    try {
      prepare(target);
      project.write(target).forEach(file -> out.println(target.resolve(file)));
    } catch (IOException e) {
      throw usageError(
          "--dir %s: the folder cannot be created or written; name another one".formatted(target));
    }
    out.println();
    out.println(
        "Build and test it in this folder with `mvn verify`; README.md says how to serve it.");
    out.flush();
    return CommandLine.ExitCode.OK;
  }

  private void check() {
    if (!NAME.matcher(name).matches() || name.length() > LONGEST_NAME) {
      throw usageError(
          "\"%s\" is not an op name; use up to %d lower-case letters, digits and single hyphens, such as my-op"
              .formatted(name, LONGEST_NAME));
    }
    if (Catalogue.load().find(name).isPresent()) {
      throw usageError("Athanor has an op \"%s\"; choose another name".formatted(name));
    }
    if (!PACKAGE.matcher(packageName).matches() || !SourceVersion.isName(packageName)) {
      throw usageError(
          "--package %s: not a package name; use lower-case words separated by dots, such as com.example"
              .formatted(packageName));
    }
    if ((packageName + ".").startsWith("java.")) {
      throw usageError(
          "--package %s: packages of the JDK are reserved; use your own, such as com.example"
              .formatted(packageName));
    }
  }

  /** Creates the folder, or checks that it is empty. */
  private void prepare(Path target) throws IOException {
    try {
      Files.createDirectories(target);
    } catch (FileAlreadyExistsException e) {
      throw usageError("--dir %s: this is a file; name a new or an empty folder".formatted(target));
    }
    try (var files = Files.list(target)) {
      if (files.findAny().isPresent()) {
        throw usageError(
            "--dir %s: the folder is not empty; name a new or an empty one".formatted(target));
      }
    }
  }

  /**
   * Returns the Maven repository of the bundle or of the built checkout that this program is in.
   */
  private static Optional<Path> repository() {
    try {
      var location = NewCommand.class.getProtectionDomain().getCodeSource().getLocation();
      return location.getProtocol().equals("file")
          ? Optional.of(Path.of(location.toURI()).resolveSibling("../repository").normalize())
              .filter(Files::isDirectory)
          : Optional.empty();
    } catch (URISyntaxException e) {
      return Optional.empty();
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
