package dev.athanor.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** A Maven project in the folder {@code examples}, which tests compile and run without Maven. */
public record ExampleProject(Path folder) {

  private static final List<Path> SOURCES =
      List.of(Path.of("src/main/java"), Path.of("src/test/java"));

  /** Returns all projects, by name. */
  public static List<ExampleProject> all() throws IOException {
    try (var folders = Files.list(root().resolve("examples"))) {
      return folders
          .filter(folder -> Files.exists(folder.resolve("pom.xml")))
          .sorted()
          .map(ExampleProject::new)
          .toList();
    }
  }

  /** Returns the projects that depend on an artifact of this build, by name. */
  public static List<ExampleProject> dependingOn(String artifact) throws IOException {
    var dependency = "<artifactId>" + artifact + "</artifactId>";
    return all().stream().filter(project -> project.pom().contains(dependency)).toList();
  }

  /** Returns the root of the checkout; tests run in the folder of their module. */
  private static Path root() {
    var folder = Path.of("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve("examples"))) {
      folder = Objects.requireNonNull(folder.getParent(), "not in a checkout");
    }
    return folder;
  }

  /** Returns the name, which is also the artifact's. */
  public String name() {
    return folder.getFileName().toString();
  }

  /** Returns the text of the pom. */
  public String pom() {
    try {
      return Files.readString(folder.resolve("pom.xml"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the class that {@code mvn exec:java} or {@code mvn spring-boot:run} runs. */
  public String mainClass() {
    return property("exec.mainClass|start-class");
  }

  private String property(String names) {
    var property = Pattern.compile("<(" + names + ")>(.*)</\\1>").matcher(pom());
    if (!property.find()) {
      throw new AssertionError("the pom of %s has no property %s".formatted(name(), names));
    }
    return property.group(2);
  }

  /**
   * Compiles the program and its tests for the pom's version of Java.
   *
   * @param classes the folder for the class files
   * @throws AssertionError with the compiler's messages, if there are any
   */
  public void compile(String classPath, Path classes) throws IOException {
    var options = new ArrayList<>(List.of("-d", classes.toString(), "-cp", classPath));
    options.addAll(List.of("--release", property("maven.compiler.release|java.version")));
    options.addAll(List.of("-proc:none", "-parameters", "-Xlint:all,-classfile,-path", "-Werror"));
    var messages = new StringBuilder();
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      var units = files.getJavaFileObjectsFromPaths(sources());
      var task =
          compiler.getTask(
              null, files, message -> messages.append(message).append('\n'), options, null, units);
      if (!task.call()) {
        throw new AssertionError("%s does not compile:%n%s".formatted(name(), messages));
      }
    }
  }

  private List<Path> sources() throws IOException {
    var sources = new ArrayList<Path>();
    for (var part : SOURCES) {
      if (Files.exists(folder.resolve(part))) {
        try (Stream<Path> tree = Files.walk(folder.resolve(part))) {
          tree.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
        }
      }
    }
    return sources;
  }

  /** Runs the main class, on top of the classes of the caller. */
  public void run(Path classes, String... arguments) throws Exception {
    try (var loader =
        new URLClassLoader(
            new URL[] {classes.toUri().toURL()}, ExampleProject.class.getClassLoader())) {
      loader
          .loadClass(mainClass())
          .getMethod("main", String[].class)
          .invoke(null, (Object) arguments);
    }
  }

  @Override
  public String toString() {
    return name();
  }
}
