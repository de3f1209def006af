package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.io.File;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** Uses the engine in a JVM whose class path has nothing else than JSpecify's annotations. */
class EngineAloneTest {

  /** What a user would write. */
  static final class Program {

    @GpuKernel(blockSize = 64)
    static void doubled(float[] x) {
      int i = Gpu.blockIdxX() * Gpu.blockDimX() + Gpu.threadIdxX();
      if (i < x.length) {
        x[i] *= 2;
      }
    }

    public static void main(String[] arguments) {
      try (var device = Devices.open("emulator").device()) {
        var x = new float[] {1, 2, 3};
        Kernels.of(Program::doubled).on(device).launch(1, (Object) x);
        System.out.println(Arrays.toString(x));
      }
      System.out.println(Devices.open("auto").device().capability().id());
    }
  }

  @Test
  void runsKernelsOnTheEmulator() throws Exception {
    var java = new ProcessBuilder(command()).redirectErrorStream(true).start();
    var output = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(java.waitFor()).as(output).isZero();
    assertThat(output.lines().toList()).containsExactly("[2.0, 4.0, 6.0]", "emulator:0");
  }

  private static List<String> command() throws Exception {
    var classPath =
        Stream.of(Program.class, Devices.class, NullMarked.class)
            .map(EngineAloneTest::location)
            .collect(Collectors.joining(File.pathSeparator));
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        classPath,
        Program.class.getName());
  }

  private static String location(Class<?> type) {
    return new File(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()))
        .getPath();
  }
}
