package dev.athanor.service.config;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;

/** Loads plugin jars. */
final class Plugins {

  private Plugins() {}

  /**
   * Returns a class loader for the application and all jars in a folder.
   *
   * @throws UncheckedIOException if the folder cannot be read
   */
  static ClassLoader of(Path folder) {
    var jars = new ArrayList<URL>();
    try (var files = Files.newDirectoryStream(folder, "*.jar")) {
      for (var file : files) {
        jars.add(file.toUri().toURL());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "cannot read the plugin folder %s (athanor.plugins)".formatted(folder), e);
    }
    return new URLClassLoader("plugins", jars.toArray(URL[]::new), Plugins.class.getClassLoader());
  }
}
