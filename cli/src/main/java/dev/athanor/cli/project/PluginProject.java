package dev.athanor.cli.project;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The Maven project of a plugin with one op, whose kernel doubles a vector.
 *
 * @param opName the name of the op, in lower case with hyphens
 * @param packageName the package of the classes; also the project's group id
 * @param version the version of Athanor
 * @param repository folder with Athanor's artifacts in Maven's layout, of a bundle or a checkout;
 *     empty if they are installed in the local repository
 */
public record PluginProject(
    String opName, String packageName, String version, Optional<Path> repository) {

  private static final String JUNIT = "6.0.3";

  /** The script that runs the Maven of Athanor's own build. */
  private static final String WRAPPER = "mvnw";

  private static final List<String> SCRIPTS =
      List.of(WRAPPER, "mvnw.cmd", ".mvn/find-jdk.sh", ".mvn/find-jdk.cmd", ".mvn/Unpack.java");

  private static final String SERVICE =
      "src/main/resources/META-INF/services/dev.athanor.ops.OpProvider";

  private static final String CHECKOUT_INSTRUCTIONS =
      """
      Install Athanor's jars once from its checkout, with `./mvnw -DskipTests install`;
      `athanor` is the script in the checkout.\
      """;

  /** Returns the name of the class with the kernel, such as {@code MyOpPlugin}. */
  public String className() {
    return Stream.of(opName.split("-", -1))
        .map(word -> word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1))
        .collect(Collectors.joining("", "", "Plugin"));
  }

  /**
   * Writes the project.
   *
   * @param folder an existing, empty folder
   * @return the written files, relative to the folder
   */
  public List<Path> write(Path folder) throws IOException {
    var written = new ArrayList<Path>();
    for (var file : files().entrySet()) {
      var target = folder.resolve(file.getKey());
      Files.createDirectories(Objects.requireNonNull(target.getParent()));
      Files.writeString(target, file.getValue());
      if (file.getKey().equals(WRAPPER)) {
        makeExecutable(target);
      }
      written.add(folder.relativize(target));
    }
    return written;
  }

  /** Does nothing on Windows. */
  private static void makeExecutable(Path file) throws IOException {
    if (file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      var rights = Files.getPosixFilePermissions(file);
      rights.addAll(
          Set.of(
              PosixFilePermission.OWNER_EXECUTE,
              PosixFilePermission.GROUP_EXECUTE,
              PosixFilePermission.OTHERS_EXECUTE));
      Files.setPosixFilePermissions(file, rights);
    }
  }

  private Map<String, String> files() {
    var files = new LinkedHashMap<String, String>();
    var path = packageName.replace('.', '/');
    files.put("pom.xml", filled("pom.xml"));
    files.put("src/main/java/%s/%s.java".formatted(path, className()), filled("Plugin.java"));
    files.put(SERVICE, packageName + "." + className() + "\n");
    files.put(
        "src/test/java/%s/%sTest.java".formatted(path, className()), filled("PluginTest.java"));
    files.put("README.md", filled("README.md"));
    files.put(".gitignore", "target/\n");
    for (var script : SCRIPTS) {
      files.put(script, read(script));
    }
    return files;
  }

  private String filled(String template) {
    var values =
        Map.of(
            "name",
            opName,
            "package",
            packageName,
            "path",
            packageName.replace('.', '/'),
            "class",
            className(),
            "version",
            version,
            "junit",
            JUNIT,
            "repositories",
            repository.map(PluginProject::repositories).orElse(""),
            "artifacts",
            repository.map(PluginProject::repositoryInstructions).orElse(CHECKOUT_INSTRUCTIONS));
    var text = read(template + ".template");
    for (var value : values.entrySet()) {
      text = text.replace("{{" + value.getKey() + "}}", value.getValue());
    }
    return text;
  }

  private static String repositoryInstructions(Path repository) {
    var ofBundle = repository.resolveSibling("bin").resolve("athanor");
    var ofCheckout = repository.resolve("../../../athanor").normalize();
    return """
    `pom.xml` names the repository with Athanor's jars;
    `athanor` is `%s`.\
    """
        .formatted(Files.exists(ofCheckout) ? ofCheckout : ofBundle);
  }

  private static String repositories(Path repository) {
    return """

      <repositories>
        <repository>
          <id>athanor</id>
          <url>%1$s</url>
        </repository>
      </repositories>

      <pluginRepositories>
        <pluginRepository>
          <id>athanor</id>
          <url>%1$s</url>
        </pluginRepository>
      </pluginRepositories>
    """
        .formatted(repository.toUri().toString().replaceFirst("/$", ""));
  }

  private static String read(String file) {
    try (var in = PluginProject.class.getResourceAsStream(file)) {
      return new String(Objects.requireNonNull(in, file).readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
