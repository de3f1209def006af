package dev.athanor.cli.command;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The ahead-of-time cache of the JVM, which makes later starts of the service faster. */
final class StartupCache {

  /** The launcher's script, which sets this property if the cache is missing. */
  private static final String LAUNCH = "dev.athanor.launch";

  private StartupCache() {}

  /**
   * Returns the script that creates the cache; empty if there is a cache or no place for it, and
   * without the launcher.
   */
  static Optional<Path> script() {
    return Optional.ofNullable(System.getProperty(LAUNCH)).map(Path::of);
  }

  /**
   * Starts to create the cache in a process that ends with this one; the script then deletes what
   * it has written. On Windows, processes end without cleaning up; the next creation deletes it.
   *
   * @throws IOException if there is no shell
   */
  static Process create(Path script) throws IOException {
    boolean isBatch = script.toString().endsWith(".cmd");
    var command = new ArrayList<String>(isBatch ? List.of() : List.of("/bin/sh"));
    command.addAll(List.of(script.toString(), "serve", "--check"));
    var builder = new ProcessBuilder(command);
    builder.environment().put("ATHANOR_CACHE_ONLY", "true");
    builder.redirectOutput(Redirect.DISCARD).redirectError(Redirect.DISCARD);
    var process = builder.start();
    Runnable end =
        () -> {
          if (isBatch) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
          }
          process.destroy();
        };
    try {
      Runtime.getRuntime().addShutdownHook(new Thread(end, "startup-cache"));
    } catch (IllegalStateException e) {
      end.run(); // this process is ending already
    }
    return process;
  }
}
