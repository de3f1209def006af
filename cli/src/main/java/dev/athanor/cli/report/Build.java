package dev.athanor.cli.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/**
 * The version of the program and its environment.
 *
 * @param version the version of Athanor
 * @param java the version and vendor of the Java runtime
 * @param os the name, release and architecture of the operating system
 */
public record Build(String version, String java, String os) {

  /** Returns the build of the running program. */
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
        throw new IllegalStateException("the program lacks " + file);
      }
      var properties = new Properties();
      properties.load(in);
      return properties.getProperty("build.version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The output of {@code athanor --version}. */
  public static final class Provider implements IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {"athanor " + readVersion()};
    }
  }
}
