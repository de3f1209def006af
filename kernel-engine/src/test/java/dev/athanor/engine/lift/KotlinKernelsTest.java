package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.fuzz.MemoryCompiler;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Null checks that compilers insert are no instructions of a kernel. */
class KotlinKernelsTest {
  /** Has the methods of Kotlin's class. */
  private static final String INTRINSICS =
      """
      package kotlin.jvm.internal;

      public class Intrinsics {
        public static void checkNotNullParameter(Object value, String name) {
          if (value == null) {
            throw new NullPointerException("Parameter " + name + " is null");
          }
        }

        public static void checkNotNull(Object value) {
          if (value == null) {
            throw new NullPointerException();
          }
        }
      }
      """;

  /** Compiles to the instructions that Kotlin emits for a method with two array parameters. */
  private static final String KERNEL =
      """
      package kt;

      import dev.athanor.engine.lift.Gpu;
      import dev.athanor.engine.lift.GpuKernel;
      import java.util.Objects;
      import kotlin.jvm.internal.Intrinsics;

      public class Saxpy {
        @GpuKernel(blockSize = 32)
        public static void saxpy(float[] x, float[] y, float a) {
          Intrinsics.checkNotNullParameter(x, "x");
          Intrinsics.checkNotNullParameter(y, "y");
          int i = Gpu.threadIdxX();
          if (i < y.length) {
            Intrinsics.checkNotNull(y);
            Objects.requireNonNull(y, "y");
            y[i] = a * x[i] + y[i];
          }
        }
      }
      """;

  @Test
  void nullChecksOfKotlinAreNoInstructions() throws ReflectiveOperationException {
    float[] y = {10, 20, 30};
    try (var compiler = new MemoryCompiler();
        var device = new EmulatedDevice()) {
      var classes =
          compiler.compile(
              Map.of("kotlin/jvm/internal/Intrinsics", INTRINSICS, "kt/Saxpy", KERNEL));
      Kernels.of(classes.loadClass("kt.Saxpy"), "saxpy")
          .on(device)
          .launch(1, new float[] {1, 2, 3}, y, 2f);
    }
    assertThat(y).containsExactly(12, 24, 36);
  }
}
