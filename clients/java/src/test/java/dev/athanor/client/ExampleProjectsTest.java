package dev.athanor.client;

import dev.athanor.testing.ExampleProject;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compiles and runs the example projects with this client, which check their results themselves.
 */
@Tag(TestTier.THOROUGH_TAG)
class ExampleProjectsTest {

  @TempDir private Path folder;

  static List<ExampleProject> projects() throws IOException {
    return ExampleProject.dependingOn("athanor-client");
  }

  @ParameterizedTest
  @MethodSource("projects")
  void anExampleRuns(ExampleProject project) throws Exception {
    project.compile(System.getProperty("java.class.path"), folder);
    project.run(folder, LiveService.http());
  }
}
