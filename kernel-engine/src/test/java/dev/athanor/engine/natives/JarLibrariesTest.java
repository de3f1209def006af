package dev.athanor.engine.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarLibrariesTest {

  /** As if another process deleted its directory between the listing and the look at its time. */
  @Test
  void ignoresADirectoryThatHasJustGone(@TempDir Path temporary) throws IOException {
    Files.createSymbolicLink(
        temporary.resolve("athanor-natives-1"), temporary.resolve("deleted meanwhile"));

    assertThatCode(() -> JarLibraries.removeOld(temporary, Instant.now()))
        .doesNotThrowAnyException();
  }

  @Test
  void deletesWhatEarlierProcessesCouldNotDelete() throws IOException {
    try (var windows = Jimfs.newFileSystem(Configuration.windows())) {
      var temporary = Files.createDirectories(windows.getPath("C:\\Users\\me\\Temp"));
      var old = Files.createDirectory(temporary.resolve("athanor-natives-1"));
      Files.createFile(old.resolve("JCudaDriver.dll"));
      var recent = Files.createDirectory(temporary.resolve("athanor-natives-2"));
      var other = Files.createDirectory(temporary.resolve("other"));
      var now = Instant.now();
      for (var directory : List.of(old, other)) {
        Files.setLastModifiedTime(directory, FileTime.from(now.minus(Duration.ofDays(2))));
      }

      JarLibraries.removeOld(temporary, now.minus(Duration.ofDays(1)));

      assertThat(old).doesNotExist();
      assertThat(recent).exists();
      assertThat(other).exists();
    }
  }
}
