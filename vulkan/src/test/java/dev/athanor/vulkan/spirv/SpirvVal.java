package dev.athanor.vulkan.spirv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;

/** The validator of the SPIR-V tools. */
final class SpirvVal {

  private SpirvVal() {}

  /** Asserts that a shader is valid in Vulkan 1.3; skips the test where there is no validator. */
  static void require(Shader shader) {
    var program = Programs.require("spirv-val", "apt-get install spirv-tools");
    try {
      var file = Files.createTempFile("shader", ".spv");
      try {
        try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
          channel.write(shader.code().duplicate());
        }
        var process =
            new ProcessBuilder(program.toString(), "--target-env", "vulkan1.3", file.toString())
                .redirectErrorStream(true)
                .start();
        var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
