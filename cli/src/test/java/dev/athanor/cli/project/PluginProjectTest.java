package dev.athanor.cli.project;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PluginProjectTest {

  @Test
  void writesAProjectOnWindows() throws IOException {
    try (var windows = Jimfs.newFileSystem(Configuration.windows())) {
      var repository =
          Files.createDirectories(windows.getPath("C:\\Program Files\\athanor\\repository"));
      var folder = Files.createDirectories(windows.getPath("C:\\Users\\me\\my-op"));
      var project = new PluginProject("my-op", "org.example", "0.1.0", Optional.of(repository));

      var written = project.write(folder);

      assertThat(written)
          .contains(windows.getPath("src\\main\\java\\org\\example\\MyOpPlugin.java"))
          .allSatisfy(file -> assertThat(folder.resolve(file)).exists());
      assertThat(Files.readString(folder.resolve("pom.xml")))
          .contains("/C:/Program%20Files/athanor/repository</url>");
      assertThat(Files.readString(folder.resolve("README.md")))
          .contains("`C:\\Program Files\\athanor\\bin\\athanor`");
      for (var script : new String[] {"mvnw.cmd", ".mvn/find-jdk.cmd"}) {
        assertThat(Files.readString(folder.resolve(script)))
            .isEqualTo(Files.readString(Path.of("..", script)));
      }
    }
  }
}
