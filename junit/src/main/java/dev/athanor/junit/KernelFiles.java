package dev.athanor.junit;

import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;

/**
 * The kernels in resources next to a test class.
 *
 * @param store the cache of modules, shared by the tests of the class
 */
record KernelFiles(Class<?> test, Store store) {

  private static final Namespace NAMESPACE = Namespace.create(KernelFiles.class);

  private record Binary(String file) {}

  private record Compiled(String file, Target target) {}

  /** Returns the kernel files of a test's class. */
  static KernelFiles of(ExtensionContext context) {
    var ofClass = context.getParent().flatMap(ExtensionContext::getParent).orElse(context);
    return new KernelFiles(context.getRequiredTestClass(), ofClass.getStore(NAMESPACE));
  }

  Module ptx(String file) {
    return store.computeIfAbsent(file, this::read, Module.class);
  }

  private Module read(String file) {
    try (var in = resource(file).openStream()) {
      var text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return Parser.parse(text, file.substring(file.lastIndexOf('/') + 1));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file, e);
    }
  }

  CubinFile cubin(String file) {
    return store.computeIfAbsent(new Binary(file), this::readBinary, CubinFile.class);
  }

  private CubinFile readBinary(Binary key) {
    try (var in = resource(key.file).openStream()) {
      return CubinFile.read(key.file, in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + key.file, e);
    }
  }

  Module cuda(String file, Target target) {
    return store.computeIfAbsent(new Compiled(file, target), this::compile, Module.class);
  }

  private Module compile(Compiled key) {
    URI uri;
    try {
      uri = resource(key.file).toURI();
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException(e);
    }
    if (!"file".equals(uri.getScheme())) {
      throw new IllegalArgumentException(
          "%s is in an archive, %s; nvcc requires a file in a directory".formatted(key.file, uri));
    }
    return Parser.parse(Nvcc.find().compile(Path.of(uri), key.target), key.file + ".ptx");
  }

  private URL resource(String file) {
    var found = test.getResource(file);
    if (found == null) {
      throw new IllegalArgumentException(
          "resource \"%s\" not found next to %s; put it into src/test/resources/%s"
              .formatted(file, test.getName(), test.getPackageName().replace('.', '/')));
    }
    return found;
  }
}
