package dev.athanor.engine.cuda;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.natives.Platform;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds the cuBLAS library of a machine. */
final class CuBlasLibrary {

  private static final List<Integer> VERSIONS = List.of(13, 12, 11);

  /** Environment variables with the prefix of a toolkit or a Python installation. */
  private static final List<String> PREFIXES =
      List.of("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX");

  private static final boolean WINDOWS = Platform.CURRENT.isWindows();

  private static final String PACKAGES =
      WINDOWS ? "/Lib/site-packages" : "/lib/python3*/{site,dist}-packages";

  /** Directories below a prefix, possibly outside the dynamic linker's path. */
  private static final List<String> BELOW =
      WINDOWS
          ? List.of(
              "/bin",
              "/bin/x64",
              PACKAGES + "/nvidia/{cublas/bin,cu13/bin/x86_64}",
              PACKAGES + "/torch/lib")
          : List.of(
              "/lib64",
              "/targets/x86_64-linux/lib",
              PACKAGES + "/nvidia/{cublas,cu13}/lib",
              PACKAGES + "/torch/lib");

  /** Prefixes that need no environment variable; the installer on Windows sets CUDA_PATH. */
  private static final List<String> USUAL =
      WINDOWS
          ? List.of()
          : List.of(
              "/usr/local/cuda*",
              "/usr",
              "/usr/local",
              System.getProperty("user.home") + "/.local");

  private CuBlasLibrary() {}

  /**
   * Returns the newest cuBLAS that a driver supports.
   *
   * @param cuda the major CUDA version of the driver
   * @throws DeviceException.Unavailable if the machine has none
   */
  static SymbolLookup find(int cuda) {
    var named = PREFIXES.stream().map(System::getenv).filter(Objects::nonNull);
    var directories =
        Stream.concat(named, USUAL.stream())
            .flatMap(prefix -> BELOW.stream().map(place -> prefix + place))
            .flatMap(pattern -> matching(FileSystems.getDefault(), pattern))
            .toList();
    return VERSIONS.stream()
        .filter(version -> version <= cuda)
        .flatMap(version -> candidates(version, directories))
        .flatMap(Optional::stream)
        .findFirst()
        .orElseThrow(() ->
            new DeviceException.Unavailable(
                "cuBLAS (%s, 12 or 11) was not found on the dynamic linker's path, below %s, or in a Python package"
                    .formatted(file("cublas", 13), WINDOWS ? "CUDA_PATH" : USUAL.getFirst())));
  }

  private static Stream<Optional<SymbolLookup>> candidates(int version, List<Path> directories) {
    var file = file("cublas", version);
    return Stream.concat(
        Stream.of(file).map(CuBlasLibrary::load),
        directories.stream()
            .filter(directory -> Files.exists(directory.resolve(file)))
            .map(directory -> {
              // cuBLAS depends on this library; the dynamic linker uses it if it is loaded.
              load(directory.resolve(file("cublasLt", version)).toString());
              return load(directory.resolve(file).toString());
            }));
  }

  private static String file(String library, int version) {
    return (WINDOWS ? "%s64_%d.dll" : "lib%s.so.%d").formatted(library, version);
  }

  @SuppressWarnings("restricted") // NVIDIA's libraries, where their installers put them
  private static Optional<SymbolLookup> load(String nameOrPath) {
    try {
      return Optional.of(
          Path.of(nameOrPath).isAbsolute()
              ? SymbolLookup.libraryLookup(Path.of(nameOrPath), Arena.global())
              : SymbolLookup.libraryLookup(nameOrPath, Arena.global()));
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // the library or one of its dependencies is missing
    }
  }

  /** Returns the directories that match a pattern, matching it part by part. */
  static Stream<Path> matching(FileSystem files, String pattern) {
    var slashes = pattern.replace(files.getSeparator(), "/");
    var root = slashes.substring(0, slashes.indexOf('/') + 1); // such as C:/ on Windows
    Stream<Path> found = Stream.of(files.getPath(root));
    for (var part : split(slashes.substring(root.length()))) {
      found = found.flatMap(directory -> inside(directory, part));
    }
    return found;
  }

  /** Splits at slashes outside braces. */
  private static List<String> split(String pattern) {
    return Stream.of(pattern.split("/(?![^{]*})")).filter(part -> !part.isEmpty()).toList();
  }

  private static Stream<Path> inside(Path directory, String part) {
    if (part.startsWith("{")) { // alternatives may contain slashes
      return Stream.of(part.substring(1, part.indexOf('}')).split(","))
          .map(each -> directory.resolve(each + part.substring(part.indexOf('}') + 1)))
          .filter(Files::isDirectory);
    }
    if (part.indexOf('*') < 0 && part.indexOf('{') < 0) {
      return Stream.of(directory.resolve(part)).filter(Files::isDirectory);
    }
    var matcher = directory.getFileSystem().getPathMatcher("glob:" + part);
    try (var entries = Files.list(directory)) {
      return entries
          .filter(entry -> matcher.matches(entry.getFileName()) && Files.isDirectory(entry))
          .sorted(Comparator.reverseOrder())
          .toList()
          .stream();
    } catch (IOException | UncheckedIOException e) {
      return Stream.empty(); // not readable
    }
  }
}
