package dev.athanor.junit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The source files of a project, by name. Class files and PTX have only the name of a source file,
 * but SARIF needs its path in the repository.
 */
final class SourceFiles {
  private static final Set<String> OUTPUTS = Set.of("target", "build", "node_modules");

  private final Path root;
  private final Path module;
  private final Map<String, List<Path>> byName = new HashMap<>();

  /**
   * Lists the files of the repository that contains a directory, without build outputs.
   *
   * @param module the project of the tests; its files take precedence
   */
  SourceFiles(Path module) {
    this.module = module.toAbsolutePath().normalize();
    root =
        Stream.iterate(this.module, path -> path != null, Path::getParent)
            .filter(path -> Files.exists(path.resolve(".git")))
            .findFirst()
            .orElse(this.module);
    try {
      Files.walkFileTree(root, new Collector());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot list the files of " + root, e);
    }
  }

  private final class Collector extends SimpleFileVisitor<Path> {
    @Override
    public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
      var name = String.valueOf(directory.getFileName());
      boolean isOutput = OUTPUTS.contains(name) && !isSource(directory);
      boolean isSkipped = !directory.equals(root) && (isOutput || name.startsWith("."));
      return isSkipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      byName.computeIfAbsent(file.getFileName().toString(), _ -> new ArrayList<>()).add(file);
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException e) {
      return FileVisitResult.CONTINUE;
    }
  }

  private boolean isSource(Path directory) {
    return StreamSupport.stream(root.relativize(directory).spliterator(), false)
        .anyMatch(part -> part.toString().equals("src"));
  }

  /**
   * Returns the URI of a file, relative to the repository: the file of that name in the package of
   * the test, else the only one in the project, else the only one in the repository. If there is no
   * such file, the URI is the name alone.
   *
   * @param file name or path of a source file, as compilers write it
   */
  String uri(String file, Class<?> test) {
    var name = file.substring(file.lastIndexOf('/') + 1);
    var all = byName.getOrDefault(name, List.of());
    var inPackage = Path.of(test.getPackageName().replace('.', '/'), name);
    return Stream.of(
            all.stream().filter(path -> path.startsWith(module) && path.endsWith(inPackage)),
            all.stream().filter(path -> path.startsWith(module)),
            all.stream())
        .map(Stream::toList)
        .filter(found -> found.size() == 1)
        .map(found -> encoded(root.relativize(found.getFirst())))
        .findFirst()
        .orElseGet(() -> encoded(Path.of(name)));
  }

  private static String encoded(Path path) {
    var text =
        StreamSupport.stream(path.spliterator(), false)
            .map(Path::toString)
            .collect(Collectors.joining("/"));
    try {
      return new URI(null, null, text, null).toASCIIString();
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException(e);
    }
  }
}
