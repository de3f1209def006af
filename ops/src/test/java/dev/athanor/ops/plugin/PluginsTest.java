package dev.athanor.ops.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Loading of plugins. Errors name the jar and the op. */
class PluginsTest {
  private static final String SERVICE = "META-INF/services/dev.athanor.ops.OpProvider";

  @TempDir private Path folder;

  /** Packs a plugin whose provider has the given body into {@code plugin.jar}. */
  private void pack(String body) throws IOException {
    pack("com.example.Provider", body);
  }

  private void pack(String provider, String body) throws IOException {
    var source = folder.resolve("Provider.java");
    Files.writeString(
        source,
        """
        package com.example;
        import dev.athanor.engine.lift.*;
        import dev.athanor.ops.*;
        import dev.athanor.ops.lift.*;
        import java.util.*;
        public final class Provider implements OpProvider {
          @GpuKernel(blockSize = 32)
          static void copy(float[] x, float[] y) {
            int i = Gpu.blockIdxX() * 32 + Gpu.threadIdxX();
            if (i < y.length) {
              y[i] = x[i];
            }
          }
          static KernelOpBuilder describe(String name) {
            return KernelOp.named(name)
                .summary("Copies.")
                .kernel(DType.F32, Kernels.of(Provider::copy))
                .input("x", "[…]", "numbers")
                .reference((sizes, inputs) -> Map.of("y", inputs.get("x")));
          }
        %s
        }
        """
            .formatted(body));
    var options = List.of("-d", folder.toString(), "-cp", classPath());
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
      var units = files.getJavaFileObjects(source);
      assertThat(compiler.getTask(null, files, null, options, null, units).call()).isTrue();
    }
    try (var jar = new JarOutputStream(Files.newOutputStream(folder.resolve("plugin.jar")))) {
      jar.putNextEntry(new JarEntry("com/example/Provider.class"));
      Files.copy(folder.resolve("com/example/Provider.class"), jar);
      jar.putNextEntry(new JarEntry(SERVICE));
      jar.write(provider.getBytes(StandardCharsets.UTF_8));
    }
  }

  private static String classPath() {
    return Stream.of(Op.class, GpuKernel.class, NullMarked.class)
        .map(type -> type.getProtectionDomain().getCodeSource().getLocation().getPath())
        .collect(Collectors.joining(File.pathSeparator));
  }

  @Test
  void loadsTheOpsOfTheLibraryAndOfJars() throws IOException {
    pack(
        """
        @Override public List<Op> ops() {
          return List.of(describe("copy-rows").output("y", "[…]", "the same").op());
        }
        """);
    var plugins = Plugins.load(folder);
    assertThat(plugins.jars()).containsExactly("plugin.jar");
    assertThat(plugins.catalogue().find("copy-rows")).isPresent();
    assertThat(plugins.catalogue().all()).hasSize(Catalogue.load().all().size() + 1);
  }

  @Test
  void namesTheJarAndTheOpOfAnInvalidDescription() throws IOException {
    pack(
        """
        @Override public List<Op> ops() {
          return List.of(describe("copy-rows").op());
        }
        """);
    assertThatThrownBy(() -> Plugins.load(folder))
        .isInstanceOf(Plugins.Unusable.class)
        .hasMessage("plugin.jar: op \"copy-rows\": there is no output; call output(…)");
  }

  @Test
  void reportsInvalidDescriptionsInStaticFields() throws IOException {
    pack(
        """
        private static final Op COPY = describe("copy-rows").op();
        @Override public List<Op> ops() {
          return List.of(COPY);
        }
        """);
    assertThatThrownBy(() -> Plugins.load(folder))
        .hasMessage("plugin.jar: op \"copy-rows\": there is no output; call output(…)");
  }

  @Test
  void rejectsNamesOfTheLibrary() throws IOException {
    pack(
        """
        @Override public List<Op> ops() {
          return List.of(describe("matmul").output("y", "[…]", "the same").op());
        }
        """);
    assertThatThrownBy(() -> Plugins.load(folder))
        .hasMessage(
            "plugin.jar: an op of Athanor has the name \"matmul\" too; choose another name");
  }

  @Test
  void reportsMissingProviders() throws IOException {
    pack("com.example.Nobody", "@Override public List<Op> ops() { return List.of(); }");
    assertThatThrownBy(() -> Plugins.load(folder))
        .hasMessage(
            "plugins in %s: dev.athanor.ops.OpProvider: Provider com.example.Nobody not found; check the file META-INF/services/dev.athanor.ops.OpProvider",
            folder);
  }

  @Test
  void reportsPluginsOfAnotherVersion() throws IOException {
    pack(
        """
        @Override public List<Op> ops() {
          throw new NoSuchMethodError("dev.athanor.ops.Gone.gone()");
        }
        """);
    assertThatThrownBy(() -> Plugins.load(folder))
        .hasMessage(
            "plugin.jar: java.lang.NoSuchMethodError: dev.athanor.ops.Gone.gone(); compile the plugin against this version of Athanor");
  }

  @Test
  void reportsUnreadableFolders() {
    var missing = folder.resolve("missing");
    assertThatThrownBy(() -> Plugins.load(missing))
        .isInstanceOf(Plugins.Unusable.class)
        .hasMessage("cannot read the plugin folder %s; it must be a folder with jars", missing);
  }
}
