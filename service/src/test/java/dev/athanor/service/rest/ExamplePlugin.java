package dev.athanor.service.rest;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jspecify.annotations.NullMarked;

/**
 * The example plugin, compiled against the modules that are visible to plugins and packed into a
 * jar.
 */
final class ExamplePlugin {

  static final Path SOURCES = Path.of("src/test/plugin/com/example");
  private static final String SERVICE = "META-INF/services/dev.athanor.ops.OpProvider";
  private static final String PROVIDER = "com.example.ExampleOps\n";

  private ExamplePlugin() {}

  /** Packs the plugin into a jar in a folder. */
  static Path pack(Path folder) throws IOException {
    var classes = Files.createTempDirectory(folder, "classes");
    compile(classes);
    var jar = folder.resolve("examples-1.0.jar");
    try (var out = new JarOutputStream(Files.newOutputStream(jar));
        var files = Files.walk(classes)) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
      out.putNextEntry(new JarEntry(SERVICE));
      out.write(PROVIDER.getBytes(StandardCharsets.UTF_8));
    }
    return jar;
  }

  /** Loads the ops of a jar. */
  static List<Op> ops(Path jar) throws IOException {
    var loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, Op.class.getClassLoader());
    return ServiceLoader.load(OpProvider.class, loader).stream()
        .filter(provider -> loader.equals(provider.type().getClassLoader()))
        .flatMap(provider -> provider.get().ops().stream())
        .toList();
  }

  private static void compile(Path classes) throws IOException {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var errors = new StringWriter();
    try (var manager = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        var sources = Files.list(SOURCES)) {
      var options = List.of("-d", classes.toString(), "-proc:none", "-classpath", classPath());
      var files = manager.getJavaFileObjectsFromPaths(sources.toList());
      if (!compiler.getTask(errors, manager, null, options, null, files).call()) {
        throw new IllegalStateException(errors.toString());
      }
    }
  }

  /** Returns the class path for compiling plugins: ops, kernel-engine and their annotations. */
  private static String classPath() {
    return Stream.of(Op.class, KernelBuilder.class, NullMarked.class)
        .map(ExamplePlugin::location)
        .reduce((first, second) -> first + File.pathSeparator + second)
        .orElseThrow();
  }

  private static String location(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
