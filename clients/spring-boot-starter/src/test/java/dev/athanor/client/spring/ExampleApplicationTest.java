package dev.athanor.client.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.athanor.testing.ExampleProject;
import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.springframework.boot.SpringBootVersion;

/** Runs the test of the example application against the service of this build. */
@Tag(TestTier.THOROUGH_TAG)
class ExampleApplicationTest {

  private static final String URL_PROPERTY = "athanor.client.url";

  @TempDir private Path folder;

  private static ExampleProject example() throws IOException {
    var examples = ExampleProject.dependingOn("athanor-client-spring-boot-starter");
    assertThat(examples).hasSize(1);
    return examples.get(0);
  }

  @Test
  void theExamplePassesItsTest() throws Exception {
    example().compile(System.getProperty("java.class.path"), folder);
    var results = new SummaryGeneratingListener();
    var thread = Thread.currentThread();
    var context = thread.getContextClassLoader();
    var classPath =
        new URL[] {
          folder.toUri().toURL(), example().folder().resolve("src/main/resources/").toUri().toURL()
        };
    try (var service =
            ServiceProcess.ofJar(Path.of("target"), Path.of("../../cli/target/athanor.jar"));
        var loader = new URLClassLoader(classPath, context)) {
      System.setProperty(URL_PROPERTY, service.url().toString());
      thread.setContextClassLoader(loader);
      var test = loader.loadClass(example().mainClass() + "Test");
      var request = LauncherDiscoveryRequestBuilder.request().selectors(selectClass(test)).build();
      LauncherFactory.create().execute(request, results);
    } finally {
      thread.setContextClassLoader(context);
      System.clearProperty(URL_PROPERTY);
    }
    assertThat(results.getSummary().getFailures())
        .extracting(
            failure -> failure.getTestIdentifier().getDisplayName(),
            failure -> failure.getException())
        .isEmpty();
    assertThat(results.getSummary().getTestsSucceededCount()).isEqualTo(3);
  }

  @Test
  void theExampleHasTheSpringBootOfTheStarter() throws IOException {
    assertThat(example().pom())
        .contains("<artifactId>spring-boot-starter-parent</artifactId>")
        .contains("<version>" + SpringBootVersion.getVersion() + "</version>");
  }
}
