package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compiles and runs the example projects, which check their results themselves. */
class ExampleProjectsTest {
  private static final Path EXAMPLES = Path.of("../examples");

  @TempDir private Path folder;

  static List<String> projects() throws IOException {
    try (var all = Files.list(EXAMPLES)) {
      return all.filter(each -> Files.exists(each.resolve("pom.xml")))
          .map(each -> each.getFileName().toString())
          .sorted()
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("projects")
  void anExampleRuns(String name) throws Exception {
    var pom = Files.readString(EXAMPLES.resolve(name).resolve("pom.xml"));
    assertThat(pom).contains("<artifactId>" + name + "</artifactId>");
    var main = mainClass(name);
    compile(EXAMPLES.resolve(name).resolve("src/main/java"));
    try (var loader =
        new URLClassLoader(new URL[] {folder.toUri().toURL()}, getClass().getClassLoader())) {
      var arguments = new String[] {folder.resolve("result.png").toString()};
      loader.loadClass(main).getMethod("main", String[].class).invoke(null, (Object) arguments);
    }
  }

  /** Returns the class that {@code mvn exec:java} runs. */
  private static String mainClass(String name) throws IOException {
    return Files.readString(EXAMPLES.resolve(name).resolve("pom.xml"))
        .replaceFirst("(?s).*<exec.mainClass>(.*)</exec.mainClass>.*", "$1");
  }

  private void compile(Path sources) throws IOException {
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null);
        Stream<Path> tree = Files.walk(sources)) {
      var units =
          files.getJavaFileObjectsFromPaths(
              tree.filter(each -> each.toString().endsWith(".java")).toList());
      var options =
          List.of(
              "-d",
              folder.toString(),
              "-proc:none",
              "-Xlint:all",
              "-Werror",
              "-cp",
              Path.of("target/classes").toAbsolutePath().toString());
      assertThat(compiler.getTask(null, files, null, options, null, units).call())
          .as("compiles without warnings")
          .isTrue();
    }
  }

  @Test
  void theTableLinksTheProgramOfEachExample() throws IOException {
    var page = Files.readString(EXAMPLES.resolve("README.md"));
    assertThat(page).contains("\n    mvn -q compile exec:java\n");
    for (var name : projects()) {
      var source = name + "/src/main/java/" + mainClass(name).replace('.', '/') + ".java";
      assertThat(EXAMPLES.resolve(source)).exists();
      assertThat(page).contains("\n| [" + name + "](" + source + ") | ");
    }
  }

  @Test
  void thePomsNameTheVersionOfTheEngine() throws IOException {
    var version =
        Files.readString(Path.of("../pom.xml"))
            .replaceFirst(
                "(?s).*?<artifactId>athanor</artifactId>\\s*<version>(.*?)</version>.*", "$1");
    for (var name : projects()) {
      assertThat(Files.readString(EXAMPLES.resolve(name).resolve("pom.xml")))
          .contains("<version>" + version + "</version>");
    }
  }
}
