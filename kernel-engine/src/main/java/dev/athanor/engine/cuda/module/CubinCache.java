package dev.athanor.engine.cuda.module;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;

/**
 * A cache of machine code on disk, so that a kernel is compiled once per machine and not once per
 * process.
 *
 * <p>A file holds the SHA-256 of the code, then the code. A truncated or altered file counts as
 * missing, and the next {@link #put} replaces it. Files are moved into place atomically, so
 * processes may share a directory. If the directory is not writable, nothing is cached.
 */
public final class CubinCache {

  private static final System.Logger LOG = System.getLogger(CubinCache.class.getName());
  private static final int HASH_BYTES = 32;

  private final Path directory;

  public CubinCache(Path directory) {
    this.directory = directory;
  }

  /** Returns {@code $XDG_CACHE_HOME/athanor/cubin}, or the same below {@code ~/.cache}. */
  public static Path defaultDirectory() {
    var xdg = System.getenv("XDG_CACHE_HOME");
    // Relative paths must be ignored (XDG Base Directory Specification).
    var base =
        xdg != null && Path.of(xdg).isAbsolute()
            ? Path.of(xdg)
            : Path.of(System.getProperty("user.home"), ".cache");
    return base.resolve("athanor").resolve("cubin");
  }

  /** Returns the cache key of the code that a driver compiles from a text for a target. */
  static String key(String ptx, String target, String driver) {
    var hash = sha256();
    for (var part : new String[] {ptx, target, driver}) {
      hash.update(part.getBytes(StandardCharsets.UTF_8));
      hash.update((byte) 0);
    }
    return HexFormat.of().formatHex(hash.digest());
  }

  /** Returns the SHA-256 of machine code. */
  static String digest(byte[] cubin) {
    return HexFormat.of().formatHex(sha256().digest(cubin));
  }

  /** Returns the code cached under a key; empty if there is none or it cannot be read. */
  Optional<byte[]> get(String key) {
    byte[] file;
    try {
      file = Files.readAllBytes(path(key));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.INFO, "cannot read {0}: {1}", path(key), e.toString());
      return Optional.empty();
    }
    if (file.length <= HASH_BYTES) {
      return Optional.empty();
    }
    var hash = sha256();
    hash.update(file, HASH_BYTES, file.length - HASH_BYTES);
    return MessageDigest.isEqual(hash.digest(), Arrays.copyOf(file, HASH_BYTES))
        ? Optional.of(Arrays.copyOfRange(file, HASH_BYTES, file.length))
        : Optional.empty();
  }

  /** Caches code under a key. Failures are logged. */
  public void put(String key, byte[] cubin) {
    try {
      Files.createDirectories(directory, ownerOnly());
      var unfinished = Files.createTempFile(directory, key, ".tmp");
      try {
        try (var out = Files.newOutputStream(unfinished)) {
          out.write(sha256().digest(cubin));
          out.write(cubin);
        }
        Files.move(
            unfinished,
            path(key),
            StandardCopyOption.ATOMIC_MOVE,
            StandardCopyOption.REPLACE_EXISTING);
      } finally {
        Files.deleteIfExists(unfinished);
      }
    } catch (IOException e) {
      LOG.log(
          System.Logger.Level.INFO,
          "cannot cache machine code in {0}: {1}",
          directory,
          e.toString());
    }
  }

  /**
   * The GPU executes these files. On Windows, the folder inherits the rights of the user's home.
   */
  private FileAttribute<?>[] ownerOnly() {
    return directory.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
        }
        : new FileAttribute<?>[0];
  }

  private Path path(String key) {
    return directory.resolve(key + ".cubin");
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
