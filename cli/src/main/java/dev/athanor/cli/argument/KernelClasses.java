package dev.athanor.cli.argument;

import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.Kernels;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;

/** The kernels of a class path of folders and jars. */
public final class KernelClasses implements AutoCloseable {

  private static final String SUFFIX = ".class";

  private final List<Path> path;
  private final Labels labels;
  private final URLClassLoader loader;

  /**
   * The names of the arguments in error messages.
   *
   * @param classPath the name of the argument with the folders and jars
   * @param type the name of the argument with the class
   * @param method the name of the argument with the method
   */
  public record Labels(String classPath, String type, String method) {}

  /**
   * @throws IllegalArgumentException if an entry is neither a folder nor a jar
   */
  public KernelClasses(List<Path> path, Labels labels) {
    this.path = List.copyOf(path);
    this.labels = labels;
    var urls = path.stream().map(this::url).toArray(URL[]::new);
    loader = new URLClassLoader(urls, KernelClasses.class.getClassLoader());
  }

  private URL url(Path entry) {
    var given = "%s %s: ".formatted(labels.classPath, entry);
    if (!Files.isReadable(entry)) {
      throw new IllegalArgumentException(given + "no such folder or jar");
    }
    if (!Files.isDirectory(entry)) {
      try {
        new ZipFile(entry.toFile()).close();
      } catch (IOException e) {
        throw new IllegalArgumentException(given + "expected a folder or a jar", e);
      }
    }
    try {
      return entry.toUri().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(given + e.getMessage(), e);
    }
  }

  /**
   * Returns a kernel.
   *
   * @param className the binary name of the class, or its end if no other class has that
   * @param method null for the only kernel of the class
   * @throws IllegalArgumentException if the class or kernel does not exist
   */
  public JavaKernel kernel(String className, @Nullable String method) {
    try {
      var type = load(className);
      return kernel(type, method);
    } catch (LinkageError e) {
      throw new IllegalArgumentException(
          "%s %s cannot be loaded: %s".formatted(labels.type, className, e), e);
    }
  }

  private JavaKernel kernel(Class<?> type, @Nullable String method) {
    var kernels =
        Arrays.stream(type.getDeclaredMethods())
            .filter(each -> each.isAnnotationPresent(GpuKernel.class))
            .map(each -> each.getName())
            .sorted()
            .collect(Collectors.toCollection(ArrayList::new));
    if (method == null) {
      if (kernels.size() != 1) {
        throw new IllegalArgumentException(
            "%s is missing; %s".formatted(labels.method, describe(type, kernels)));
      }
      return Kernels.of(type, kernels.getFirst());
    }
    if (Arrays.stream(type.getDeclaredMethods()).noneMatch(m -> m.getName().equals(method))) {
      throw new IllegalArgumentException(
          "%s %s: no such method; %s".formatted(labels.method, method, describe(type, kernels)));
    }
    return Kernels.of(type, method);
  }

  private static String describe(Class<?> type, List<String> kernels) {
    return kernels.isEmpty()
        ? type.getName() + " has no kernels; annotate one with @GpuKernel"
        : "the kernels of %s are %s".formatted(type.getName(), String.join(", ", kernels));
  }

  private Class<?> load(String name) {
    try {
      return Class.forName(name, false, loader);
    } catch (ClassNotFoundException e) {
      try {
        return Class.forName(completed(name), false, loader);
      } catch (ClassNotFoundException impossible) {
        throw new IllegalArgumentException(impossible);
      }
    }
  }

  /** Returns the name of the only class that ends with the given name. */
  private String completed(String name) {
    var all = path.stream().flatMap(KernelClasses::names).distinct().toList();
    var matches =
        all.stream()
            .filter(each -> each.endsWith("." + name) || each.endsWith("$" + name))
            .toList();
    if (matches.size() == 1) {
      return matches.getFirst();
    }
    var given = "%s %s: ".formatted(labels.type, name);
    if (matches.size() > 1) {
      throw new IllegalArgumentException(
          given + "several classes have this name; give one of " + String.join(", ", matches));
    }
    throw new IllegalArgumentException(
        "%snot found on the class path %s; %s"
            .formatted(
                given,
                path.stream().map(Path::toString).collect(Collectors.joining(", ")),
                UsageErrorHandler.hint(
                    name, all, "write com.acme.Saxpy, and nested classes as Outer$Inner")));
  }

  /** Returns the binary names of the classes in a folder or jar. */
  private static Stream<String> names(Path entry) {
    try {
      if (Files.isDirectory(entry)) {
        return namesBelow(entry).stream();
      }
      try (var jar = FileSystems.newFileSystem(entry)) {
        return namesBelow(jar.getPath("/")).stream();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> namesBelow(Path root) throws IOException {
    try (var files = Files.walk(root)) {
      return files
          .map(file -> root.relativize(file).toString())
          .filter(file -> file.endsWith(SUFFIX) && !file.startsWith("META-INF"))
          .map(file ->
              file.substring(0, file.length() - SUFFIX.length())
                  .replace(root.getFileSystem().getSeparator(), "."))
          .sorted()
          .toList();
    }
  }

  @Override
  public void close() throws IOException {
    loader.close();
  }
}
