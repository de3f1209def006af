package dev.athanor.engine.lift.fuzz;

import dev.athanor.engine.lift.Gpu;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/** Compiles classes from source text, with class files in memory. */
public final class MemoryCompiler implements AutoCloseable {
  private static final String ENGINE =
      Path.of(URI.create(Gpu.class.getProtectionDomain().getCodeSource().getLocation().toString()))
          .toString();

  private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
  private final StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);

  /** Finds classes and their class files. */
  private static final class Loader extends ClassLoader {
    private final Map<String, ByteArrayOutputStream> classes;

    Loader(Map<String, ByteArrayOutputStream> classes) {
      super(MemoryCompiler.class.getClassLoader());
      this.classes = classes;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      var code = classes.get(name);
      if (code == null) {
        throw new ClassNotFoundException(name);
      }
      return defineClass(name, code.toByteArray(), 0, code.size());
    }

    @Override
    public @Nullable InputStream getResourceAsStream(String name) {
      var code = classes.get(name.replace(".class", "").replace('/', '.'));
      return code == null
          ? super.getResourceAsStream(name)
          : new ByteArrayInputStream(code.toByteArray());
    }
  }

  /**
   * Compiles top-level classes.
   *
   * @param sources text of each class by its name
   * @return a loader of the classes
   * @throws IllegalArgumentException if a source has an error; the message has the compiler's
   */
  public ClassLoader compile(Map<String, String> sources) {
    var classes = new HashMap<String, ByteArrayOutputStream>();
    var manager =
        new ForwardingJavaFileManager<JavaFileManager>(files) {
          @Override
          public JavaFileObject getJavaFileForOutput(
              Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            var code = classes.computeIfAbsent(name, _ -> new ByteArrayOutputStream());
            return new SimpleJavaFileObject(URI.create("memory:///" + name), kind) {
              @Override
              public OutputStream openOutputStream() {
                return code;
              }
            };
          }
        };
    var units = new ArrayList<JavaFileObject>();
    sources.forEach((name, text) ->
        units.add(
            new SimpleJavaFileObject(
                URI.create("memory:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
              @Override
              public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
              }
            }));
    var messages = new StringWriter();
    var options = List.of("-g", "-nowarn", "-proc:none", "-classpath", ENGINE);
    if (!compiler.getTask(messages, manager, null, options, null, units).call()) {
      throw new IllegalArgumentException(messages.toString());
    }
    return new Loader(classes);
  }

  @Override
  public void close() {
    try {
      files.close();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}
