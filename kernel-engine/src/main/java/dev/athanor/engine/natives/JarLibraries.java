package dev.athanor.engine.natives;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Loads the native libraries of JCuda and LWJGL from a private directory.
 *
 * <p>They unpack them from their jars to a fixed name in {@code java.io.tmpdir} and use a file that
 * already has that name. Other users with write access to that directory could inject code. Both
 * read the property when they load a library, so this class points it to a new directory that only
 * the owner can enter, and deletes the file once it is mapped. Windows refuses that while the
 * library is loaded, so a later process deletes it. The JDK does not read the property after
 * startup.
 */
public final class JarLibraries {

  private static final String PREFIX = "athanor-natives-";

  private static final String PROPERTY = "java.io.tmpdir";

  private JarLibraries() {}

  /**
   * Runs code that makes JCuda or LWJGL load a library, such as the first use of one of its
   * classes.
   *
   * @throws LinkageError if the library cannot be loaded
   * @throws UncheckedIOException if it cannot be unpacked
   */
  public static synchronized void load(Runnable firstUse) {
    var shared = System.getProperty(PROPERTY);
    try {
      removeOld(Path.of(shared), Instant.now().minus(Duration.ofDays(1)));
      var directory = Files.createTempDirectory(PREFIX); // accessible by its owner only
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

  /** Deletes the directories of earlier processes whose libraries are no longer loaded. */
  static void removeOld(Path parent, Instant before) throws IOException {
    try (var directories = Files.newDirectoryStream(parent, PREFIX + "*")) {
      for (var directory : directories) {
        if (isOlder(directory, before)) {
          remove(directory);
        }
      }
    }
  }

  private static boolean isOlder(Path directory, Instant time) throws IOException {
    try {
      return Files.getLastModifiedTime(directory).toInstant().isBefore(time);
    } catch (NoSuchFileException e) {
      return false; // another process that has just loaded its libraries has deleted it
    }
  }

  private static void remove(Path directory) throws IOException {
    try {
      List<Path> files;
      try (var listed = Files.list(directory)) {
        files = listed.toList();
      }
      for (var file : files) {
        Files.delete(file);
      }
      Files.delete(directory);
    } catch (AccessDeniedException | NoSuchFileException e) {
      // loaded, or of another user; or another process was faster
    }
  }
}
