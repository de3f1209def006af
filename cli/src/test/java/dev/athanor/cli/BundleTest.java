package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.zip.ZipFile;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests what the program that packs the bundle does on Windows. */
class BundleTest {

  @TempDir Path folder;
  private URLClassLoader loader;

  @BeforeEach
  void compile() throws Exception {
    var classes = folder.resolve("classes").toString();
    var source = "src/bundle/java/Bundle.java";
    assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", classes, source))
        .isZero();
    loader = new URLClassLoader(new URL[] {folder.resolve("classes").toUri().toURL()});
  }

  @AfterEach
  void close() throws Exception {
    loader.close();
  }

  private Object call(String type, String name, Object... arguments) throws Exception {
    var declaring = loader.loadClass(type);
    var method =
        Arrays.stream(declaring.getDeclaredMethods())
            .filter(each -> each.getName().equals(name))
            .findFirst()
            .orElseThrow();
    method.setAccessible(true);
    var constructor = loader.loadClass("Bundle").getDeclaredConstructor();
    constructor.setAccessible(true);
    try {
      return method.invoke(constructor.newInstance(), arguments);
    } catch (InvocationTargetException e) {
      throw new AssertionError(e.getCause());
    }
  }

  @Test
  void platformsAreLinuxAndWindowsOnX86() throws Exception {
    assertThat(call("Bundle$Platform", "of", "Linux", "amd64")).asString().contains("LINUX");
    assertThat(call("Bundle$Platform", "of", "Windows 11", "amd64")).asString().contains("WINDOWS");
    assertThat(call("Bundle$Platform", "of", "Windows 11", "aarch64")).isEqualTo(Optional.empty());
    assertThat(call("Bundle$Platform", "of", "Mac OS X", "amd64")).isEqualTo(Optional.empty());
  }

  @Test
  void zipIsSortedAndReproducible() throws Exception {
    var home = folder.resolve("athanor-1");
    for (var file : List.of("lib/b.jar", "bin/athanor.cmd", "lib/a.jar")) {
      Files.createDirectories(home.resolve(file).getParent());
      Files.writeString(home.resolve(file), file);
    }
    var first = folder.resolve("first.zip");
    var second = folder.resolve("second.zip");

    call("Bundle", "zip", home, Instant.parse("2026-01-01T00:00:00Z"), first);
    Files.writeString(home.resolve("lib/a.jar"), "lib/a.jar"); // newer
    call("Bundle", "zip", home, Instant.parse("2026-01-01T00:00:00Z"), second);

    assertThat(first).hasSameBinaryContentAs(second);
    try (var zip = new ZipFile(first.toFile())) {
      var entries = zip.stream().toList();
      assertThat(entries)
          .extracting(each -> each.getName())
          .containsExactly(
              "athanor-1/bin/athanor.cmd", "athanor-1/lib/a.jar", "athanor-1/lib/b.jar");
      assertThat(entries)
          .allMatch(each -> each.getTimeLocal().equals(LocalDateTime.of(2026, 1, 1, 0, 0)));
      assertThat(zip.getInputStream(entries.getLast()).readAllBytes())
          .asString()
          .isEqualTo("lib/b.jar");
    }
  }
}
