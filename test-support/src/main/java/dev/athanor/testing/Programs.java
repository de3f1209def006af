package dev.athanor.testing;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;

/** Programs that some tests need and that a machine may lack. */
public final class Programs {

  private Programs() {}

  /** Returns a program on the {@code PATH}, or empty if there is none of that name. */
  public static Optional<Path> find(String name) {
    return Arrays.stream(
            Objects.requireNonNullElse(System.getenv("PATH"), "").split(File.pathSeparator))
        .filter(directory -> !directory.isEmpty())
        .map(directory -> Path.of(directory, name))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * Returns a program on the {@code PATH}, or skips the test.
   *
   * @param source where to get it, such as {@code apt-get install haproxy}
   */
  public static Path require(String name, String source) {
    return require(find(name), name, source);
  }

  /** Returns what was found, or skips the test and says where to get {@code name}. */
  public static <T> T require(Optional<T> found, String name, String source) {
    if (found.isEmpty()) {
      var reason = "SKIPPED: this machine has no %s; %s".formatted(name, source);
      System.err.println(reason);
      Assumptions.abort(reason);
    }
    return found.orElseThrow();
  }
}
