package dev.athanor.engine.natives;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Loads JCuda's native libraries from a private directory.
 *
 * <p>JCuda unpacks them from its jar to a fixed name in {@code java.io.tmpdir} and uses a file that
 * already has that name. Other users with write access to that directory could inject code. JCuda
 * reads the property when it loads a library, so this class points it to a new directory that only
 * the owner can enter, and deletes the file once it is mapped. The JDK does not read the property
 * after startup.
 */
public final class JarLibraries {

  private static final String PROPERTY = "java.io.tmpdir";

  private JarLibraries() {}

  /**
   * Runs code that makes JCuda load a library, such as the first use of one of its classes.
   *
   * @throws LinkageError if the library cannot be loaded
   * @throws UncheckedIOException if it cannot be unpacked
   */
  public static synchronized void load(Runnable firstUse) {
    var shared = System.getProperty(PROPERTY);
    try {
      var directory = Files.createTempDirectory("athanor-natives-"); // accessible by its owner only
      System.setProperty(PROPERTY, directory.toString());
      try {
        firstUse.run();
      } finally {
        System.setProperty(PROPERTY, shared);
        remove(directory);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("native libraries cannot be unpacked to " + shared, e);
    }
  }

  private static void remove(Path directory) throws IOException {
    List<Path> files;
    try (var listed = Files.list(directory)) {
      files = listed.toList();
    }
    for (var file : files) {
      Files.delete(file);
    }
    Files.delete(directory);
  }
}
