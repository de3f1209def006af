package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

    assertThat(CuBlasLibrary.matching(prefix + pattern)).containsExactly(newer, older);
    assertThat(CuBlasLibrary.matching(prefix + "/nowhere*/lib64")).isEmpty();
  }
}
