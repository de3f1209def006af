package dev.athanor.maven;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.tools.ToolProvider;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugin.logging.Log;
import org.apache.maven.plugin.logging.SystemStreamLog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The goal on projects that the test compiles. */
class CheckMojoTest {

  private static final String PTXAS = "install NVIDIA's CUDA toolkit";

  @TempDir private Path project;
  private Path sources;
  private Path classes;
  private final List<String> lines = new ArrayList<>();

  @BeforeEach
  void folders() throws IOException {
    sources = Files.createDirectories(project.resolve("src"));
    classes = Files.createDirectories(project.resolve("classes"));
  }

  private Path source(String file, String text) throws IOException {
    var path = sources.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
    return path;
  }

  private void compile(Path... files) throws Exception {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var options = List.of("-g", "-proc:none", "-cp", engine(), "-d", classes.toString());
    try (var manager = compiler.getStandardFileManager(null, null, null)) {
      var units = manager.getJavaFileObjects(files);
      assertThat(compiler.getTask(null, manager, null, options, null, units).call()).isTrue();
    }
  }

  /** Returns the path of the engine on this test's class path. */
  private static String engine() throws Exception {
    var location = GpuKernel.class.getProtectionDomain().getCodeSource().getLocation();
    return Path.of(location.toURI()).toString();
  }

  private CheckMojo mojo() throws Exception {
    var mojo = new CheckMojo();
    mojo.classes = classes.toFile();
    mojo.sourceRoots = List.of(project.resolve("absent").toString(), sources.toString());
    mojo.compileClassPath = List.of(classes.toString(), engine());
    mojo.runtimeClassPath = List.of(classes.toString());
    mojo.setLog(log());
    return mojo;
  }

  /** A log that keeps lines such as {@code [WARN] text}. */
  private Log log() {
    return new SystemStreamLog() {
      @Override
      public void debug(CharSequence text) {
        lines.add("[DEBUG] " + text);
      }

      @Override
      public void info(CharSequence text) {
        lines.add("[INFO] " + text);
      }

      @Override
      public void warn(CharSequence text) {
        lines.add("[WARN] " + text);
      }

      @Override
      public void error(CharSequence text) {
        lines.add("[ERROR] " + text);
      }
    };
  }

  private Path good() throws IOException {
    return source(
        "com/acme/Good.java",
        """
        package com.acme;
        import dev.athanor.engine.lift.Gpu;
        import dev.athanor.engine.lift.GpuKernel;
        import java.util.function.IntUnaryOperator;
        class Good {
          static final float SCALE = Float.parseFloat("3");
          @GpuKernel(blockSize = 32)
          static void scale(float[] x) { x[Gpu.threadIdxX()] *= SCALE; }
          @GpuKernel
          static void scale(int[] x) { x[Gpu.threadIdxX()] *= 2; }
          @GpuKernel
          static void lambda(int[] x) {
            IntUnaryOperator twice = i -> 2 * i;
            x[0] = twice.applyAsInt(x[0]);
          }
        }
        """);
  }

  @Test
  void kernelsThatCanRunPass() throws Exception {
    compile(good());
    mojo().execute();
    assertThat(lines).containsExactly("[INFO] Kernels that can run on a GPU: 3");
  }

  @Test
  void everyRefusalIsAnErrorWithFileAndLine() throws Exception {
    var bad =
        source(
            "com/acme/Bad.java",
            """
            package com.acme;
            import dev.athanor.engine.lift.GpuKernel;
            class Bad {
              @GpuKernel
              static void allocates(float[] x) {
                float[] y = new float[x.length];
                x[0] = y[0];
              }
              static class Nested {
                @GpuKernel
                static void calls(int[] x) {
                  x[0] = Helper.print(x[0]);
                }
              }
              @GpuKernel(blockSize = 2048)
              static void large(int[] x) {}
              @GpuKernel
              void instance(int[] x) {}
            }
            """);
    var helper =
        source(
            "com/acme/util/Helper.java",
            """
            package com.acme;
            class Helper {
              static int print(int i) {
                System.out.println(i);
                return i;
              }
            }
            """);
    compile(good(), bad, helper);
    var mojo = mojo();
    assertThatThrownBy(mojo::execute)
        .isInstanceOf(MojoFailureException.class)
        .hasMessage("Kernels that cannot run on a GPU: 4 of 7");
    assertThat(lines)
        .containsExactly(
            ("[ERROR] %s:6: the length of `new float[…]` is not a constant, and a GPU thread has no heap;"
                    + " use a compile-time constant, or Gpu.shared… for memory of the block (in allocates)")
                .formatted(bad),
            "[ERROR] %s:16: blockSize makes 2048 threads; give extents with a product of at most 1024 (in large)"
                .formatted(bad),
            ("[ERROR] %s:18: the kernel instance is an instance method; make it static, and pass what it reads"
                    + " as parameters (in instance)")
                .formatted(bad),
            ("[ERROR] %s:4: System.out prints text; use Gpu.print" + " (in print)")
                .formatted(helper));
  }

  /** Class files name their source without its folder. */
  @Test
  void sourcesOfOneNameDifferByPackage() throws Exception {
    var text =
        """
        package %s;
        class Same {
          @dev.athanor.engine.lift.GpuKernel
          static void k(String[] x) {}
        }
        """;
    var a = source("a/Same.java", text.formatted("a"));
    var b = source("b/Same.java", text.formatted("b"));
    compile(a, b);
    Files.delete(b);
    Files.createDirectories(sources.resolve("c"));
    Files.copy(a, sources.resolve("c/Same.java"));
    var mojo = mojo();
    assertThatThrownBy(mojo::execute).isInstanceOf(MojoFailureException.class);
    assertThat(lines)
        .satisfiesExactly(
            first -> assertThat(first).startsWith("[ERROR] " + a + ":4: "),
            second -> assertThat(second).startsWith("[ERROR] Same.java:4: "));
  }

  @Test
  void onlyClassesWithKernelsAreLoaded() throws Exception {
    var optional = source("Optional.java", "class Optional { static int value() { return 1; } }");
    var without = source("Without.java", "class Without extends Optional {}");
    var with =
        source(
            "With.java",
            """
            class With extends Optional {
              @dev.athanor.engine.lift.GpuKernel
              static void k(int[] x) {
                x[0] = 1;
              }
            }
            """);
    compile(optional, without);
    Files.delete(classes.resolve("Optional.class"));
    mojo().execute();
    assertThat(lines).containsExactly("[DEBUG] No kernels in " + classes);

    lines.clear();
    compile(optional, with);
    Files.delete(classes.resolve("Optional.class"));
    var mojo = mojo();
    assertThatThrownBy(mojo::execute).hasMessage("Kernels that cannot run on a GPU: 1 of 1");
    assertThat(lines)
        .containsExactly(
            "[ERROR] %s:4: k cannot be loaded: java.lang.NoClassDefFoundError: Optional"
                .formatted(with));
  }

  @Test
  void staticInitializersOfKernelClassesDoNotRun() throws Exception {
    compile(
        source(
            "Fails.java",
            """
            class Fails {
              static { if (true) throw new IllegalStateException(); }
              @dev.athanor.engine.lift.GpuKernel
              static void k(int[] x) { x[0] = 1; }
            }
            """));
    mojo().execute();
    assertThat(lines).containsExactly("[INFO] Kernels that can run on a GPU: 1");
  }

  @Test
  void nothingIsDoneWithoutClassesOrIfSkipped() throws Exception {
    var mojo = mojo();
    mojo.classes = project.resolve("absent").toFile();
    mojo.execute();
    assertThat(lines).containsExactly("[DEBUG] No kernels in " + mojo.classes);

    lines.clear();
    mojo.skip = true;
    mojo.targets = List.of("no target");
    mojo.execute();
    assertThat(lines).containsExactly("[INFO] The check of kernels is skipped.");
  }

  @Test
  void unknownTargetsFail() throws Exception {
    var mojo = mojo();
    mojo.targets = List.of("sm_80", "sm80");
    assertThatThrownBy(mojo::execute)
        .isInstanceOf(MojoExecutionException.class)
        .hasMessage("targets: \"sm80\" is not a target; write sm_80 or sm_90a");
  }

  @Test
  void targetsNeedPtxas() throws Exception {
    compile(good());
    var mojo = mojo();
    mojo.targets = List.of("sm_80");
    mojo.assemblers = Optional::empty;
    mojo.execute();
    assertThat(lines)
        .containsExactly(
            "[WARN] Kernels are not assembled for `targets`: there is no ptxas on the PATH.",
            "[INFO] Kernels that can run on a GPU: 3");
  }

  @Test
  void ptxasReportsSpilledRegistersAndRefusals() throws Exception {
    Programs.require(Ptxas.find(), "ptxas", PTXAS);
    var spills =
        source(
            "Spills.java",
            """
            import dev.athanor.engine.lift.Gpu;
            class Spills {
              @dev.athanor.engine.lift.GpuKernel(blockSize = 1024, minBlocks = 2)
              static void spills(double[] x) {
                var sums = new double[32];
                for (int i = 0; i < x.length; i += 32) {
                  for (int k = 0; k < 32; k++) {
                    sums[k] += x[i + k] * sums[(k + 5) % 32];
                  }
                }
                for (int k = 0; k < 32; k++) {
                  x[32 * Gpu.threadIdxX() + k] = sums[k];
                }
              }
            }
            """);
    compile(good(), spills);
    var mojo = mojo();
    mojo.targets = List.of("sm_80", "sm_10");
    mojo.execute();
    assertThat(lines).hasSize(6).last().isEqualTo("[INFO] Kernels that can run on a GPU: 4");
    assertThat(lines.getFirst())
        .startsWith("[WARN] %s:5: spills for sm_80: registers are spilled: ".formatted(spills))
        .matches(
            ".* [1-9]\\d* bytes of stores, [1-9]\\d* bytes of loads, with 32 registers per thread");
    assertThat(lines.get(2))
        .matches(
            "(?s)\\[WARN] .*/Good.java:8: scale for sm_10: ptxas [\\d.]+ refuses the module for sm_10:\n.*sm_10.*");
  }
}
