package dev.athanor.engine.cuda;

import dev.athanor.engine.device.DeviceException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
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

  private static final String PACKAGES = "/lib/python3*/{site,dist}-packages";

  /** Directories below a prefix, possibly outside the dynamic linker's path. */
  private static final List<String> BELOW =
      List.of(
          "/lib64",
          "/targets/x86_64-linux/lib",
          PACKAGES + "/nvidia/{cublas,cu13}/lib",
          PACKAGES + "/torch/lib");

  private CuBlasLibrary() {}

  /**
   * Returns the newest cuBLAS that a driver supports.
   *
   * @param cuda the major CUDA version of the driver
   * @throws DeviceException.Unavailable if the machine has none
   */
  static SymbolLookup find(int cuda) {
    var named = PREFIXES.stream().map(System::getenv).filter(Objects::nonNull);
    var usual =
        Stream.of(
            "/usr/local/cuda*", "/usr", "/usr/local", System.getProperty("user.home") + "/.local");
    var directories =
        Stream.concat(named, usual)
            .flatMap(prefix -> BELOW.stream().map(place -> prefix + place))
            .flatMap(CuBlasLibrary::matching)
            .toList();
    return VERSIONS.stream()
        .filter(version -> version <= cuda)
        .flatMap(version -> candidates(version, directories))
        .flatMap(Optional::stream)
        .findFirst()
        .orElseThrow(() ->
            new DeviceException.Unavailable(
                "cuBLAS (libcublas.so.13, 12 or 11) was not found on the dynamic linker's path, below"
                    + " /usr/local/cuda*, or in a Python package"));
  }

  private static Stream<Optional<SymbolLookup>> candidates(int version, List<Path> directories) {
    var file = "libcublas.so." + version;
    return Stream.concat(
        Stream.of(file).map(CuBlasLibrary::load),
        directories.stream()
            .filter(directory -> Files.exists(directory.resolve(file)))
            .map(directory -> {
              // cuBLAS depends on this library; the dynamic linker uses it if it is loaded.
              load(directory.resolve("libcublasLt.so." + version).toString());
              return load(directory.resolve(file).toString());
            }));
  }

  @SuppressWarnings("restricted") // NVIDIA's libraries, where their installers put them
  private static Optional<SymbolLookup> load(String nameOrPath) {
    try {
      return Optional.of(
          nameOrPath.startsWith("/")
              ? SymbolLookup.libraryLookup(Path.of(nameOrPath), Arena.global())
              : SymbolLookup.libraryLookup(nameOrPath, Arena.global()));
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // the library or one of its dependencies is missing
    }
  }

  /** Returns the directories that match a pattern, matching it part by part. */
  static Stream<Path> matching(String pattern) {
    Stream<Path> found = Stream.of(Path.of("/"));
    for (var part : split(pattern)) {
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
    var matcher = FileSystems.getDefault().getPathMatcher("glob:" + part);
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
