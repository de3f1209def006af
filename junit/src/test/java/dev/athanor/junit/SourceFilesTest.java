package dev.athanor.junit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SourceFilesTest {
  private static final String OWN = "module/src/test/java/dev/athanor/junit/";

  @TempDir Path root;

  @BeforeEach
  void createRepository() throws IOException {
    Files.createDirectory(root.resolve(".git"));
    file(".git/Own.java");
    file(OWN + "Own.java");
    file("module/src/main/java/other/Own.java");
    file("module/src/main/java/other/Ours.java");
    file("module/src/build/Built.java");
    file("module/target/classes/dev/athanor/junit/Own.java");
    file("other/src/Ours.java");
    file("other/src/a b.cu");
    file("other/src/Twice.java");
    file("third/src/Twice.java");
  }

  private void file(String name) throws IOException {
    var path = root.resolve(name);
    Files.createDirectories(path.getParent());
    Files.createFile(path);
  }

  private String uri(String file) {
    return new SourceFiles(root.resolve("module")).uri(file, SourceFilesTest.class);
  }

  @Test
  void prefersThePackageOfTheTestThenItsProject() {
    assertThat(uri("Own.java")).isEqualTo(OWN + "Own.java");
    assertThat(uri("/tmp/target/classes/Own.java")).isEqualTo(OWN + "Own.java");
    assertThat(uri("Ours.java")).isEqualTo("module/src/main/java/other/Ours.java");
  }

  @Test
  void findsFilesOfOtherProjects() {
    assertThat(uri("a b.cu")).isEqualTo("other/src/a%20b.cu");
  }

  @Test
  void readsSourceDirectoriesThatAreNamedLikeOutputs() {
    assertThat(uri("Built.java")).isEqualTo("module/src/build/Built.java");
  }

  @Test
  void doesNotGuess() {
    assertThat(uri("Twice.java")).isEqualTo("Twice.java");
    assertThat(uri("/tmp/Missing.java")).isEqualTo("Missing.java");
  }
}
