package dev.athanor.maven;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The source files of a project, which class files name without a folder.
 *
 * @param files each in one of the folders, in the folder of its package
 */
record SourceFiles(List<Path> folders, List<Path> files) {

  /** Finds the files; a folder that does not exist has none. */
  static SourceFiles in(List<Path> folders) throws IOException {
    var files = new ArrayList<Path>();
    for (var folder : folders) {
      if (Files.isDirectory(folder)) {
        try (var tree = Files.walk(folder)) {
          tree.forEach(files::add);
        }
      }
    }
    return new SourceFiles(folders, files);
  }

  /**
   * Returns the path of a source: of the only file with its name, or among several, of the one in
   * the package of the class; the name if it is none of these.
   */
  String path(String name, Path packageFolder) {
    var named = files.stream().filter(file -> file.endsWith(name)).toList();
    var own = folders.stream().map(folder -> folder.resolve(packageFolder).resolve(name)).toList();
    var found = named.size() > 1 ? named.stream().filter(own::contains).toList() : named;
    return found.size() == 1 ? found.getFirst().toString() : name;
  }
}
