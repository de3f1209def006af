package dev.athanor.service.codec;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

/**
 * The JSON view of the lines of a Java file that generated PTX, and of a few lines around them.
 *
 * @param file the name of the file, as the PTX lines give it
 */
public record SourceView(String file, List<Line> lines) {

  /** Lines shown before and after one that generated PTX. */
  private static final int CONTEXT = 3;

  /**
   * A line of Java.
   *
   * @param number from 1
   */
  public record Line(int number, String text) {}

  /** The sources of the op library, by file name; its jar contains them. */
  private static final class Library {
    static final Map<String, Resource> SOURCES = list();

    private static Map<String, Resource> list() {
      try {
        var sources = new HashMap<String, Resource>();
        for (var source :
            new PathMatchingResourcePatternResolver()
                .getResources("classpath*:sources/**/*.java")) {
          sources.put(String.valueOf(source.getFilename()), source);
        }
        return sources;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Returns the sources of kernels in order of appearance, without those of plugins. */
  static List<SourceView> of(Collection<Kernel> kernels) {
    return kernels.stream()
        .flatMap(Kernel::instructions)
        .map(Statement::source)
        .filter(source -> Library.SOURCES.containsKey(source.file()))
        .collect(
            Collectors.groupingBy(
                Source::file,
                LinkedHashMap::new,
                Collectors.mapping(Source::line, Collectors.toCollection(TreeSet::new))))
        .entrySet()
        .stream()
        .map(file -> new SourceView(file.getKey(), lines(file.getKey(), file.getValue())))
        .toList();
  }

  private static List<Line> lines(String file, SortedSet<Integer> wanted) {
    var text = read(Objects.requireNonNull(Library.SOURCES.get(file)));
    return wanted.stream()
        .flatMap(number -> IntStream.rangeClosed(number - CONTEXT, number + CONTEXT).boxed())
        .filter(number -> number >= 1 && number <= text.size())
        .distinct()
        .sorted()
        .map(number -> new Line(number, text.get(number - 1)))
        .toList();
  }

  private static List<String> read(Resource source) {
    try {
      return source.getContentAsString(StandardCharsets.UTF_8).lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
