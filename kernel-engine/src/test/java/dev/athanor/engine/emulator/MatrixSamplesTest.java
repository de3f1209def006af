package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Parser;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.SlowTensorCore;
import dev.athanor.engine.ptx.Target;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What nvcc makes of matrix instructions, bit by bit. */
class MatrixSamplesTest {

  /** A product in f16, its sums as each architecture makes them. */
  @ParameterizedTest
  @CsvSource({"sm_80, 24, 8", "sm_90, 25, 16"})
  void productsOfHalves(String target, int fraction, int depth) {
    int m = 16;
    int n = 32;
    int k = 48;
    long seed = System.nanoTime();
    var random = new Random(seed);
    var a = halves(random, m * k);
    var b = halves(random, n * k);
    var c = new float[m * n];
    run(
        "k06_wmma.sm_80",
        "wmma_gemm",
        EmulatorOptions.DEFAULT.withTarget(Target.of(target)),
        new Dim3(1, n / 16, 1),
        List.of(MemorySegment.ofArray(a), MemorySegment.ofArray(b), MemorySegment.ofArray(c)),
        List.of(Argument.of(m), Argument.of(n), Argument.of(k)));
    var core = new SlowTensorCore(fraction, SlowTensorCore.Format.F32, -14, -14);
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int l = 0; l < k; l += depth) {
          var x = new double[depth];
          var y = new double[depth];
          for (int block = 0; block < depth; block++) {
            x[block] = Float.float16ToFloat(a[i * k + l + block]);
            y[block] = Float.float16ToFloat(b[j * k + l + block]);
          }
          sum = core.add(x, y, sum);
        }
        assertThat(c[i * n + j])
            .as("seed %d, row %d, column %d", seed, i, j)
            .isEqualTo((float) sum);
      }
    }
  }

  /** A product of bytes, whose fragments the kernel takes from memory as they are. */
  @Test
  void productOfBytes() {
    var random = new Random(1);
    var a = new byte[16 * 32];
    var b = new byte[32 * 8];
    random.nextBytes(a);
    random.nextBytes(b);
    var d = new int[16 * 8];
    run(
        "k09_quant.sm_80",
        "imma",
        EmulatorOptions.DEFAULT,
        Dim3.of(1),
        List.of(MemorySegment.ofArray(a), MemorySegment.ofArray(b), MemorySegment.ofArray(d)),
        List.of());
    var rowsOfA = new int[16][32];
    var rowsOfB = new int[32][8];
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 16; i++) {
        var at = Fragments.a(16, 32, 8).place().at(lane, i);
        rowsOfA[at.row()][at.column()] = a[16 * lane + i];
      }
      for (int i = 0; i < 8; i++) {
        var at = Fragments.b(32, 8).place().at(lane, i);
        rowsOfB[at.row()][at.column()] = b[8 * lane + i];
      }
    }
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 4; i++) {
        var at = Fragments.c(16).place().at(lane, i);
        int sum = 0;
        for (int k = 0; k < 32; k++) {
          sum += rowsOfA[at.row()][k] * rowsOfB[k][at.column()];
        }
        assertThat(d[4 * lane + i]).as("lane %d, element %d", lane, i).isEqualTo(sum);
      }
    }
  }

  private static short[] halves(Random random, int count) {
    var values = new short[count];
    for (int i = 0; i < count; i++) {
      values[i] =
          Float.floatToFloat16((float) Math.scalb(random.nextGaussian(), random.nextInt(12) - 6));
    }
    return values;
  }

  /** Runs one warp a block on copies of arrays, of which the last comes back. */
  private static void run(
      String sample,
      String kernel,
      EmulatorOptions options,
      Dim3 grid,
      List<MemorySegment> arrays,
      List<Argument> numbers) {
    var module = Parser.parse(Samples.text(sample + ".ptx"), sample);
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var buffers =
          arrays.stream()
              .map(array -> {
                var buffer = device.allocate(array.byteSize());
                stream.upload(array, buffer, 0);
                return buffer;
              })
              .toList();
      var arguments = new ArrayList<>(buffers.stream().map(Argument::of).toList());
      arguments.addAll(numbers);
      stream.launch(
          new Launch(device.load(module, kernel), grid, Dim3.of(32), 0, List.copyOf(arguments)));
      stream.download(buffers.getLast(), 0, arrays.getLast());
    }
  }
}
