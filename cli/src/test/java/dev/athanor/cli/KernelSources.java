package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.lift.GpuKernel;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import javax.tools.ToolProvider;

/** Sources of kernels in Java, which tests compile. */
public final class KernelSources {

  private KernelSources() {}

  /** Writes Waves.java to a folder. */
  public static Path waves(Path folder) throws IOException {
    try (var text = KernelSources.class.getResourceAsStream("/kernels/Waves.java.txt")) {
      return Files.write(folder.resolve("Waves.java"), Objects.requireNonNull(text).readAllBytes());
    }
  }

  /**
   * Compiles a source.
   *
   * @param debugInformation javac's option, such as {@code -g}
   */
  public static void compile(String debugInformation, Path source, Path classes)
      throws URISyntaxException {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var path = Path.of(GpuKernel.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    int status =
        compiler.run(
            null,
            null,
            null,
            debugInformation,
            "-proc:none",
            "-cp",
            path.toString(),
            "-d",
            classes.toString(),
            source.toString());
    assertThat(status).isZero();
  }
}
