package dev.athanor.cli.command;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
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
   * it has written.
   *
   * @throws IOException if there is no shell
   */
  static Process create(Path script) throws IOException {
    var builder = new ProcessBuilder("/bin/sh", script.toString(), "serve", "--check");
    builder.environment().put("ATHANOR_CACHE_ONLY", "true");
    builder.redirectOutput(Redirect.DISCARD).redirectError(Redirect.DISCARD);
    var process = builder.start();
    try {
      Runtime.getRuntime().addShutdownHook(new Thread(process::destroy, "startup-cache"));
    } catch (IllegalStateException e) {
      process.destroy(); // this process is ending already
    }
    return process;
  }
}
