package dev.athanor.cli.debug;

import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.Kernels;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The kernels of a class path of folders and jars. */
final class KernelClasses implements AutoCloseable {
  private final List<Path> path;
  private final URLClassLoader loader;

  /**
   * @throws IllegalArgumentException if an entry does not exist
   */
  KernelClasses(List<Path> path) {
    this.path = List.copyOf(path);
    var urls = new ArrayList<URL>();
    for (var entry : path) {
      if (!Files.isReadable(entry)) {
        throw new IllegalArgumentException(
            "`classPath` %s: no such folder or jar".formatted(entry));
      }
      try {
        urls.add(entry.toUri().toURL());
      } catch (MalformedURLException e) {
        throw new IllegalArgumentException("`classPath` %s: %s".formatted(entry, e), e);
      }
    }
    loader = new URLClassLoader(urls.toArray(URL[]::new), KernelClasses.class.getClassLoader());
  }

  /**
   * Returns a kernel.
   *
   * @param method null for the only kernel of the class
   * @throws IllegalArgumentException if the class or kernel does not exist
   */
  JavaKernel kernel(String className, @Nullable String method) {
    var type = load(className);
    var kernels =
        Arrays.stream(type.getDeclaredMethods())
            .filter(each -> each.isAnnotationPresent(GpuKernel.class))
            .map(each -> each.getName())
            .sorted()
            .collect(Collectors.toCollection(ArrayList::new));
    if (method == null) {
      if (kernels.size() != 1) {
        throw new IllegalArgumentException("`method` is missing; " + describe(className, kernels));
      }
      return Kernels.of(type, kernels.getFirst());
    }
    if (Arrays.stream(type.getDeclaredMethods()).noneMatch(m -> m.getName().equals(method))) {
      throw new IllegalArgumentException(
          "`method` %s: no such method; %s".formatted(method, describe(className, kernels)));
    }
    return Kernels.of(type, method);
  }

  private static String describe(String className, List<String> kernels) {
    return kernels.isEmpty()
        ? className + " has no kernels; annotate one with @GpuKernel"
        : "the kernels of %s are %s".formatted(className, String.join(", ", kernels));
  }

  private Class<?> load(String name) {
    try {
      return Class.forName(name, false, loader);
    } catch (ClassNotFoundException e) {
      throw new IllegalArgumentException(
          "`class` %s: not found on the class path %s; include the package, and write nested classes as Outer$Inner"
              .formatted(name, path.stream().map(Path::toString).collect(Collectors.joining(", "))),
          e);
    } catch (LinkageError e) {
      throw new IllegalArgumentException("`class` %s cannot be loaded: %s".formatted(name, e), e);
    }
  }

  @Override
  public void close() throws IOException {
    loader.close();
  }
}
