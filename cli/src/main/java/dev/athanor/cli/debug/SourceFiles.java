package dev.athanor.cli.debug;

import dev.athanor.engine.ptx.Statement.Instruction;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.lsp4j.debug.Source;

/**
 * Finds the source files of a kernel. Lines of a PTX file refer to it by path. Lines of Java
 * sources refer to them only by name, which is searched for in the source folders.
 */
final class SourceFiles {

  /** Maximum depth of a source below its folder. */
  private static final int DEPTH = 24;

  private final List<Path> folders;
  private final Set<String> names = new LinkedHashSet<>();
  private final Map<String, Optional<Path>> found = new HashMap<>();

  SourceFiles(List<Instruction> instructions, List<Path> folders) {
    this.folders = folders;
    for (var instruction : instructions) {
      for (var at = instruction.source(); at != null; at = at.origin()) {
        names.add(at.file());
      }
    }
  }

  /** Returns the name by which the kernel's lines refer to a file; empty if none do. */
  Optional<String> nameOf(Path path) {
    var wanted = path.toAbsolutePath().normalize();
    return names.stream()
        .filter(name ->
            isPath(name)
                ? Path.of(name).toAbsolutePath().normalize().equals(wanted)
                : wanted.endsWith(name))
        .findFirst();
  }

  private static boolean isPath(String name) {
    return name.contains("/") || Files.exists(Path.of(name));
  }

  /** Returns the source of a name; without a path if the file is not found. */
  Source source(String name) {
    var source = new Source();
    source.setName(String.valueOf(Path.of(name).getFileName()));
    found
        .computeIfAbsent(name, this::find)
        .ifPresent(path -> source.setPath(path.toAbsolutePath().normalize().toString()));
    return source;
  }

  private Optional<Path> find(String name) {
    if (isPath(name)) {
      return Optional.of(Path.of(name));
    }
    for (var folder : folders) {
      try (var files = Files.find(folder, DEPTH, (path, _) -> path.endsWith(name))) {
        var first = files.findFirst();
        if (first.isPresent()) {
          return first;
        }
      } catch (IOException | UncheckedIOException e) {
        // an unreadable folder has no sources
      }
    }
    return Optional.empty();
  }
}
