package dev.athanor.service.config;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;

/** The jars that an operator adds. */
final class Plugins {

  private Plugins() {}

  /**
   * Classes of the application and of all jars of a folder.
   *
   * @throws UncheckedIOException when the folder cannot be read
   */
  static ClassLoader of(Path folder) {
    var jars = new ArrayList<URL>();
    try (var files = Files.newDirectoryStream(folder, "*.jar")) {
      for (var file : files) {
        jars.add(file.toUri().toURL());
      }
    } catch (IOException e) {
      throw new UncheckedIOException("the plugins in %s cannot be read".formatted(folder), e);
    }
    return new URLClassLoader("plugins", jars.toArray(URL[]::new), Plugins.class.getClassLoader());
  }
}
