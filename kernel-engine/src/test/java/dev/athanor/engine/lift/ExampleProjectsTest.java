package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.ExampleProject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compiles and runs the example projects of kernels, which check their results themselves, and
 * checks the pages and poms of all.
 */
class ExampleProjectsTest {

  @TempDir private Path folder;

  static List<ExampleProject> kernels() throws IOException {
    return ExampleProject.dependingOn("athanor-engine");
  }

  static List<ExampleProject> all() throws IOException {
    return ExampleProject.all();
  }

  @ParameterizedTest
  @MethodSource("kernels")
  void anExampleRuns(ExampleProject project) throws Exception {
    project.compile(Path.of("target/classes").toAbsolutePath().toString(), folder);
    project.run(folder, folder.resolve("result.png").toString());
  }

  @Test
  void thePageTellsHowToRunThem() throws IOException {
    assertThat(page()).contains("\n    mvn -q compile exec:java\n");
  }

  @ParameterizedTest
  @MethodSource("all")
  void theTableLinksTheProgram(ExampleProject project) throws IOException {
    var source = "src/main/java/" + project.mainClass().replace('.', '/') + ".java";
    assertThat(project.folder().resolve(source)).exists();
    var link = "[%1$s](%1$s/%2$s)".formatted(project.name(), source);
    assertThat(page()).contains("\n| " + link + " | ");
  }

  @ParameterizedTest
  @MethodSource("all")
  void thePomNamesTheProjectAndTheVersionOfAthanor(ExampleProject project) throws IOException {
    var version =
        Files.readString(Path.of("../pom.xml"))
            .replaceFirst(
                "(?s).*?<artifactId>athanor</artifactId>\\s*<version>(.*?)</version>.*", "$1");
    assertThat(project.pom())
        .contains("\n  <artifactId>" + project.name() + "</artifactId>\n")
        .containsPattern(
            "<groupId>dev.athanor</groupId>\\s*<artifactId>[\\w-]+</artifactId>\\s*<version>"
                + version
                + "</version>");
  }

  private static String page() throws IOException {
    return Files.readString(Path.of("../examples/README.md"));
  }
}
