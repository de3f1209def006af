package dev.athanor.engine.natives;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlatformTest {

  @ParameterizedTest
  @CsvSource({"Linux, amd64", "Windows 11, amd64", "Windows Server 2025, amd64"})
  void jcudaHasLibrariesForX86(String system, String architecture) {
    assertThat(new Platform(system, architecture).withoutJCuda()).isEmpty();
  }

  /** On such machines a driver may well be installed. */
  @ParameterizedTest
  @CsvSource({"Linux, aarch64", "Windows 11, aarch64", "Mac OS X, aarch64", "Mac OS X, x86_64"})
  void namesThePlatformIfJCudaHasNoLibraries(String system, String architecture) {
    assertThat(new Platform(system, architecture).withoutJCuda())
        .hasValue(
            "GPUs cannot be used on %s %s: JCuda has native libraries only for Linux and Windows on x86-64"
                .formatted(system, architecture));
  }

  @Test
  void programsHaveAnExtensionOnWindows(@TempDir Path folder) throws IOException {
    var program = Files.createFile(folder.resolve("ptxas.exe"));
    assertThat(program.toFile().setExecutable(true)).isTrue();
    var path = File.pathSeparator + "/nowhere" + File.pathSeparator + '"' + folder + '"';

    assertThat(new Platform("Windows 11", "amd64").findProgram("ptxas", path)).hasValue(program);
    assertThat(new Platform("Linux", "amd64").findProgram("ptxas", path)).isEmpty();
  }
}
