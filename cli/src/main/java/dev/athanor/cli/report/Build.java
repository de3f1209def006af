package dev.athanor.cli.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/**
 * What program this is, and on what it runs.
 *
 * @param version as the build says
 * @param java the version of the Java runtime and its vendor
 * @param os name, release and architecture of the operating system
 */
public record Build(String version, String java, String os) {

  /** The running program. */
  public static Build current() {
    return new Build(
        readVersion(),
        "%s (%s)".formatted(Runtime.version(), System.getProperty("java.vendor")),
        "%s %s %s"
            .formatted(
                System.getProperty("os.name"),
                System.getProperty("os.version"),
                System.getProperty("os.arch")));
  }

  private static String readVersion() {
    var file = "/META-INF/build-info.properties";
    try (var in = Build.class.getResourceAsStream(file)) {
      if (in == null) {
        throw new IllegalStateException("the build left no " + file);
      }
      var properties = new Properties();
      properties.load(in);
      return properties.getProperty("build.version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** For {@code athanor --version}. */
  public static final class Provider implements IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {"athanor " + readVersion()};
    }
  }
}
