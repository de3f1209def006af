package dev.athanor.engine.natives;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/**
 * An operating system and a processor, by the names in the system properties {@code os.name} and
 * {@code os.arch}.
 */
public record Platform(String system, String architecture) {

  /** The platform of this JVM. */
  public static final Platform CURRENT =
      new Platform(System.getProperty("os.name"), System.getProperty("os.arch"));

  /**
   * Returns whether this is Windows, whose libraries, paths and files differ from those of Unix.
   */
  public boolean isWindows() {
    return system.startsWith("Windows");
  }

  /** Returns why JCuda has no native libraries for this platform; empty if it has. */
  public Optional<String> withoutJCuda() {
    boolean published = architecture.equals("amd64") && (isWindows() || system.equals("Linux"));
    return published
        ? Optional.empty()
        : Optional.of(
            "GPUs cannot be used on %s %s: JCuda has native libraries only for Linux and Windows on x86-64"
                .formatted(system, architecture));
  }

  /**
   * Finds a program.
   *
   * @param name without the extension that programs have on Windows
   * @param path a list of directories in the syntax of {@code PATH}
   */
  public Optional<Path> findProgram(String name, String path) {
    var file = isWindows() ? name + ".exe" : name;
    return Arrays.stream(path.split(File.pathSeparator))
        .map(directory -> directory.replace("\"", "")) // allowed around directories on Windows
        .filter(directory -> !directory.isEmpty())
        .map(directory -> Path.of(directory, file))
        .filter(Files::isExecutable)
        .findFirst();
  }

  @Override
  public String toString() {
    return system + " " + architecture;
  }
}
