package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.refusal.LiftException;
import java.lang.module.ModuleFinder;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kernels in a named module, which exports their package and does not open it. */
class ModulesTest {
  private static final String KERNELS =
      """
      package closed.kernels;
      import dev.athanor.engine.lift.*;
      public class Kernels7 {
        private static final int SEVEN = Integer.getInteger("none", 7);
        @GpuKernel(blockSize = 1) static void plain(int[] out) { out[0] = 7; }
        @GpuKernel(blockSize = 1) static void constant(int[] out) { out[0] = SEVEN; }
        @GpuKernel(blockSize = 1) static void hidden(int[] out) {
          out[0] = closed.internal.Constants.EIGHT;
        }
        public static JavaKernel reference() { return Kernels.of(Kernels7::plain); }
      }
      """;
  private static final String CONSTANTS =
      """
      package closed.internal;
      public class Constants { public static final int EIGHT = Integer.getInteger("none", 8); }
      """;
  private static final String OPENS =
      "add `opens closed.kernels;` to the module-info.java of kernels.of.seven";

  @TempDir private Path folder;
  private Class<?> kernels;

  @BeforeEach
  void load() throws Exception {
    var sources = folder.resolve("sources");
    var classes = folder.resolve("classes");
    Files.createDirectories(sources);
    var files =
        List.of(
            Files.writeString(
                sources.resolve("module-info.java"),
                "module kernels.of.seven { exports closed.kernels; }"),
            Files.writeString(sources.resolve("Kernels7.java"), KERNELS),
            Files.writeString(sources.resolve("Constants.java"), CONSTANTS));
    var options =
        List.of(
            "-g",
            "-proc:none",
            "-d",
            classes.toString(),
            "-classpath",
            System.getProperty("java.class.path"),
            "--add-reads",
            "kernels.of.seven=ALL-UNNAMED");
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var manager = compiler.getStandardFileManager(null, null, null)) {
      var units = manager.getJavaFileObjectsFromPaths(files);
      assertThat(compiler.getTask(null, manager, null, options, null, units).call()).isTrue();
    }
    var boot = ModuleLayer.boot();
    var configuration =
        boot.configuration()
            .resolve(ModuleFinder.of(classes), ModuleFinder.of(), Set.of("kernels.of.seven"));
    var controller =
        ModuleLayer.defineModulesWithOneLoader(
            configuration, List.of(boot), ModulesTest.class.getClassLoader());
    var module = controller.layer().findModule("kernels.of.seven").orElseThrow();
    controller.addReads(module, JavaKernel.class.getModule());
    kernels = module.getClassLoader().loadClass("closed.kernels.Kernels7");
  }

  @Test
  void aKernelThatReadsNothingRunsOnADevice() {
    var out = new int[1];
    try (var device = new EmulatedDevice()) {
      Kernels.of(kernels, "plain").on(device).launch(1, (Object) out);
    }
    assertThat(out).containsExactly(7);
  }

  @Test
  void aConstantNamesThePackageToOpen() {
    assertThatThrownBy(() -> Kernels.of(kernels, "constant").module(false))
        .isInstanceOf(LiftException.class)
        .hasMessage(
            "Kernels7.java:6: the package of the constant Kernels7.SEVEN is not open: "
                + OPENS
                + "; or pass the value as a parameter (in constant)");
    assertThatThrownBy(() -> Kernels.of(kernels, "hidden").module(false))
        .isInstanceOf(LiftException.class)
        .hasMessageContaining("add `opens closed.internal;` to the module-info.java of kernels");
  }

  @Test
  void plainJavaNamesThePackageToOpen() {
    var kernel = Kernels.of(kernels, "plain").inJava();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, (Object) new int[1]))
        .withMessage("cannot launch plain: its package is not open; " + OPENS);
  }

  @Test
  void aMethodReferenceNamesThePackageToOpen() throws ReflectiveOperationException {
    var reference = kernels.getMethod("reference");
    assertThatThrownBy(() -> reference.invoke(null))
        .isInstanceOf(InvocationTargetException.class)
        .cause()
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("cannot find the method of closed.kernels.Kernels7$$Lambda")
        .hasMessageEndingWith("; " + OPENS + ", or use Kernels.of(Class, String)");
  }
}
