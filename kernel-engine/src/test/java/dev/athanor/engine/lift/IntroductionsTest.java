package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.Devices;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The programs with which KAIO, TornadoVM and Numba introduce themselves, written for Athanor. The
 * page on the programming model has the number of lines between the comments.
 */
class IntroductionsTest {

  private static final Path PAGE = Path.of("../docs/programming-model.md");
  private static final Path SOURCE =
      Path.of("src/test/java/dev/athanor/engine/lift/IntroductionsTest.java");

  @Test
  void saxpy() {
    // KAIO: saxpy
    int n = 1024;
    float[] x = new float[n];
    float[] y = new float[n];
    Arrays.fill(x, 1);
    Arrays.fill(y, 2);
    try (var device = Devices.open("emulator").device()) {
      Kernels.forEach(device, n, i -> y[i] = 2.5f * x[i] + y[i]);
    }
    // end
    assertThat(y).containsOnly(4.5f);
  }

  @Test
  void matrixProduct() {
    int n = 8;
    float[] a = new float[n * n];
    float[] b = new float[n * n];
    float[] c = new float[n * n];
    for (int i = 0; i < n * n; i++) {
      a[i] = i % 5;
      b[i] = i % 7;
    }
    // TornadoVM: matrix product
    try (var device = Devices.open("emulator").device()) {
      Kernels.forEach(
          device,
          n * n,
          i -> {
            float sum = 0;
            for (int k = 0; k < n; k++) {
              sum += a[i / n * n + k] * b[k * n + i % n];
            }
            c[i] = sum;
          });
    }
    // end
    for (int i = 0; i < n * n; i++) {
      float sum = 0;
      for (int k = 0; k < n; k++) {
        sum += a[i / n * n + k] * b[k * n + i % n];
      }
      assertThat(c[i]).isEqualTo(sum);
    }
  }

  @Test
  void increment() {
    int[] x = {1, 2, 3};
    // Numba: increment
    try (var device = Devices.open("emulator").device()) {
      Kernels.forEach(device, x.length, i -> x[i]++);
    }
    // end
    assertThat(x).containsExactly(2, 3, 4);
  }

  @Test
  void thePageCountsTheirLines() throws IOException {
    assertThat(Files.readAllLines(PAGE))
        .contains(
            "| KAIO | saxpy | 13 | %d |".formatted(lines("KAIO: saxpy")),
            "| TornadoVM | matrix product | 20 | %d |"
                .formatted(lines("TornadoVM: matrix product")),
            "| Numba | increment | 8 | %d |".formatted(lines("Numba: increment")));
  }

  private static long lines(String program) throws IOException {
    List<String> all = Files.readAllLines(SOURCE);
    return all.stream()
        .map(String::strip)
        .dropWhile(line -> !line.equals("// " + program))
        .skip(1)
        .takeWhile(line -> !line.equals("// end"))
        .count();
  }
}
