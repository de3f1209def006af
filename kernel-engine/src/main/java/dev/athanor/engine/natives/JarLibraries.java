package dev.athanor.engine.natives;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Loads JCuda's native libraries from a directory of this process alone.
 *
 * <p>JCuda unpacks them from its jar to a fixed name in {@code java.io.tmpdir} and takes whatever
 * file has that name already; where others may write to that directory, they choose what this
 * process runs. It reads the property at that moment, so this class lets it point to a new
 * directory that only the owner can enter while JCuda loads, and removes the file once it is
 * mapped. Nothing else in the JDK looks at the property after start-up.
 */
public final class JarLibraries {

  private static final String PROPERTY = "java.io.tmpdir";

  private JarLibraries() {}

  /**
   * Runs what makes JCuda load a library, such as the first call of one of its classes.
   *
   * @throws LinkageError when the library cannot be loaded
   * @throws UncheckedIOException when there is no place to unpack it
   */
  public static synchronized void load(Runnable firstUse) {
    var shared = System.getProperty(PROPERTY);
    try {
      var directory = Files.createTempDirectory("athanor-natives-"); // for its owner alone
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
