package dev.athanor.junit;

import dev.athanor.engine.natives.Platform;
import dev.athanor.engine.ptx.Target;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.opentest4j.TestAbortedException;

/**
 * The CUDA compiler.
 *
 * @param program the path of {@code nvcc}
 */
record Nvcc(Path program) {

  /**
   * Returns the compiler on the {@code PATH}.
   *
   * @throws TestAbortedException if there is none
   */
  static Nvcc find() {
    return find(System.getenv().getOrDefault("PATH", ""))
        .orElseThrow(() -> {
          var reason =
              "nvcc is not on the PATH; install the CUDA toolkit to test kernels in CUDA C++";
          System.getLogger(GpuTest.class.getName())
              .log(System.Logger.Level.WARNING, "SKIPPED: " + reason);
          return new TestAbortedException(reason);
        });
  }

  /** Returns the first compiler in a list of directories in the syntax of {@code PATH}. */
  static Optional<Nvcc> find(String path) {
    return Platform.CURRENT.findProgram("nvcc", path).map(Nvcc::new);
  }

  /**
   * Compiles a file to PTX, with line numbers.
   *
   * @throws IllegalArgumentException if nvcc rejects the file; the message has its log
   */
  String compile(Path source, Target target) {
    try {
      var ptx = Files.createTempFile("athanor-nvcc-", ".ptx");
      try {
        var process =
            new ProcessBuilder(
                    program.toString(),
                    "-ptx",
                    "-lineinfo",
                    "-arch=" + target,
                    "-o",
                    ptx.toString(),
                    source.toString())
                .redirectErrorStream(true)
                .start();
        process.getOutputStream().close();
        var log = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
          throw new IllegalArgumentException(
              "nvcc cannot compile %s for %s:%n%s"
                  .formatted(source.getFileName(), target, log.strip()));
        }
        return Files.readString(ptx);
      } finally {
        Files.deleteIfExists(ptx);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(program + " could not be run", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while nvcc compiles " + source, e);
    }
  }
}
