package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CuBlasLibraryTest {

  @Test
  void findsTheLibraryInPythonPackages(@TempDir Path prefix) throws IOException {
    var older = prefix.resolve("lib/python3.11/site-packages/nvidia/cublas/lib");
    var newer = prefix.resolve("lib/python3.12/dist-packages/nvidia/cu13/lib");
    Files.createDirectories(older);
    Files.createDirectories(newer);
    Files.createDirectories(prefix.resolve("lib/python3.12/dist-packages/nvidia/cudnn/lib"));
    Files.createFile(prefix.resolve("lib/python3.13"));
    var pattern = "/lib/python3*/{site,dist}-packages/nvidia/{cublas,cu13}/lib";

    assertThat(matching(prefix + pattern)).containsExactly(newer, older);
    assertThat(matching(prefix + "/nowhere*/lib64")).isEmpty();
  }

  @Test
  void findsTheLibraryBelowAPathOfWindows() throws IOException {
    try (var windows = Jimfs.newFileSystem(Configuration.windows())) {
      var toolkit = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v13.0";
      var binaries = Files.createDirectories(windows.getPath(toolkit, "bin", "x64"));
      var wheel =
          Files.createDirectories(
              windows.getPath("C:\\venv\\Lib\\site-packages\\nvidia\\cublas\\bin"));

      assertThat(CuBlasLibrary.matching(windows, toolkit + "/bin/x64")).containsExactly(binaries);
      assertThat(
              CuBlasLibrary.matching(
                  windows, "C:\\venv/Lib/site-packages/nvidia/{cublas/bin,cu13/bin/x86_64}"))
          .containsExactly(wheel);
    }
  }

  private static Stream<Path> matching(String pattern) {
    return CuBlasLibrary.matching(FileSystems.getDefault(), pattern);
  }
}
