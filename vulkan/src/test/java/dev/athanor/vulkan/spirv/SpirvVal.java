package dev.athanor.vulkan.spirv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The validator of the SPIR-V tools. */
final class SpirvVal {

  private SpirvVal() {}

  /** Asserts that a shader is valid in Vulkan 1.3; skips the test where there is no validator. */
  static void require(Shader shader) {
    require(shader, Programs.require("spirv-val", "apt-get install spirv-tools"));
  }

  /** Asserts the same of a shader with cooperative matrices, which older validators do not know. */
  static void requireWithMatrices(Shader shader) {
    require(
        shader,
        Programs.require(
            Programs.find("spirv-val").filter(SpirvVal::knowsMatrices),
            "spirv-val for cooperative matrices",
            "install spirv-tools 2023.4 or newer"));
  }

  private static boolean knowsMatrices(Path program) {
    var version = Pattern.compile("v(\\d+)\\.(\\d+)").matcher(run(program, "--version").output());
    if (!version.find()) {
      return false;
    }
    int year = Integer.parseInt(version.group(1));
    return year > 2023 || (year == 2023 && Integer.parseInt(version.group(2)) >= 4);
  }

  private static void require(Shader shader, Path program) {
    try {
      var file = Files.createTempFile("shader", ".spv");
      try {
        try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
          channel.write(shader.code().duplicate());
        }
        var run = run(program, "--target-env", "vulkan1.3", file.toString());
        assertThat(run.status()).as(run.output()).isZero();
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Run(int status, String output) {}

  private static Run run(Path program, String... arguments) {
    try {
      var process =
          new ProcessBuilder(
                  Stream.concat(Stream.of(program.toString()), Stream.of(arguments)).toList())
              .redirectErrorStream(true)
              .start();
      var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return new Run(process.waitFor(), output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
