package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.ptx.Parser;
import dev.athanor.engine.ptx.Samples;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What nvcc compiled gives on the emulator what the same arithmetic gives in Java, bit by bit. */
class SampleRunsTest {

  @Test
  void saxpy() {
    int n = 300;
    var x = random(n, 1);
    var y = random(n, 2);
    var expected = new float[n];
    for (int i = 0; i < n; i++) {
      expected[i] = Math.fma(2.5f, x[i], y[i]);
    }
    var arguments = List.of(Argument.of(n), Argument.of(2.5f));
    assertThat(run("k01_saxpy", "saxpy", Dim3.of(3), Dim3.of(128), List.of(x), y, arguments, true))
        .isEqualTo(expected);
    var quads = List.of(Argument.of(n / 4), Argument.of(2.5f));
    assertThat(run("k01_saxpy", "saxpy_gs", Dim3.of(2), Dim3.of(32), List.of(x), y, quads, true))
        .isEqualTo(expected);
  }

  @Test
  void tiledMatrixProduct() {
    int m = 20;
    int n = 33;
    int k = 41;
    var a = random(m * k, 3);
    var b = random(k * n, 4);
    var expected = new float[m * n];
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int l = 0; l < k; l++) {
          sum = Math.fma(a[i * k + l], b[l * n + j], sum);
        }
        expected[i * n + j] = sum;
      }
    }
    var sizes = List.of(Argument.of(m), Argument.of(n), Argument.of(k));
    assertThat(
            run(
                "k03_matmul_tiled",
                "matmul_tiled",
                new Dim3(Math.ceilDiv(n, 16), Math.ceilDiv(m, 16), 1),
                new Dim3(16, 16, 1),
                List.of(a, b),
                new float[m * n],
                sizes,
                false))
        .isEqualTo(expected);
  }

  /**
   * The library's exponential and the fast one, block reductions by shuffles, approximate division.
   */
  @ParameterizedTest
  @ValueSource(strings = {"k04_softmax_norm", "k04_softmax_norm.fast"})
  void softmaxOfRows(String sample) {
    int rows = 3;
    int n = 300;
    var x = random(rows * n, 5);
    var y =
        run(
            sample,
            "softmax_rows",
            Dim3.of(rows),
            Dim3.of(128),
            List.of(x),
            new float[rows * n],
            List.of(Argument.of(n)),
            false);
    for (int row = 0; row < rows; row++) {
      double sum = 0;
      for (int i = 0; i < n; i++) {
        sum += Math.exp(x[row * n + i]);
      }
      for (int i = 0; i < n; i++) {
        double expected = Math.exp(x[row * n + i]) / sum;
        assertThat((double) y[row * n + i])
            .as("row %d, element %d", row, i)
            .isCloseTo(expected, withinPercentage(1e-4));
      }
    }
  }

  private static float[] random(int count, long seed) {
    var random = new Random(seed);
    var values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = 2 * random.nextFloat() - 1;
    }
    return values;
  }

  /** Runs a kernel whose pointers, the last for its results, come after or before its numbers. */
  private static float[] run(
      String sample,
      String kernel,
      Dim3 grid,
      Dim3 block,
      List<float[]> in,
      float[] out,
      List<Argument> numbers,
      boolean numbersFirst) {
    var module = Parser.parse(Samples.text(sample + ".sm_80.ptx"), sample);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT);
        var stream = device.openStream()) {
      var arguments = new java.util.ArrayList<Argument>(numbersFirst ? numbers : List.of());
      for (var values : in) {
        var buffer = device.allocate(4L * values.length);
        stream.upload(MemorySegment.ofArray(values), buffer, 0);
        arguments.add(Argument.of(buffer));
      }
      var result = device.allocate(4L * out.length);
      stream.upload(MemorySegment.ofArray(out), result, 0);
      arguments.add(Argument.of(result));
      arguments.addAll(numbersFirst ? List.of() : numbers);
      stream.launch(new Launch(device.load(module, kernel), grid, block, 0, arguments));
      var values = new float[out.length];
      stream.download(result, 0, MemorySegment.ofArray(values));
      return values;
    }
  }
}
