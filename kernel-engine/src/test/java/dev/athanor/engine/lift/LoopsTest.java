package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.refusal.LiftException;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Loops of the host whose body is a lambda that runs on a device. */
class LoopsTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  private int field = 3;

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @Test
  void forEachCallsTheBodyOnceForEachIndex() {
    for (int n : new int[] {0, 1, 255, 256, 257, 100_000}) {
      var x = IntStream.range(0, n).toArray();
      var y = new float[n];
      var counts = new int[n];
      float alpha = 0.5f + n;
      Kernels.forEach(
          DEVICE,
          n,
          i -> {
            y[i] = Math.fma(alpha, x[i], 1);
            counts[i]++;
          });
      for (int i = 0; i < n; i++) {
        assertThat(y[i]).isEqualTo(Math.fma(alpha, i, 1));
      }
      assertThat(counts).isEqualTo(IntStream.range(0, n).map(_ -> 1).toArray());
    }
  }

  @Test
  void capturedVariablesMayHaveAnyName() {
    int n = 40;
    var body = new int[n];
    var ofBlocks = new int[n];
    Arrays.fill(ofBlocks, 2);
    Kernels.forEach(DEVICE, n, i -> body[i] = n + ofBlocks[i]);
    assertThat(body).containsOnly(42);
    assertThat(Kernels.sum(DEVICE, n, i -> (double) body[i] / n + ofBlocks[i])).isEqualTo(42 + 80);
  }

  private static void store(int index) {}

  private static double square(int index) {
    return (double) index * index;
  }

  @Test
  void functionsMayBeMethodReferences() {
    Kernels.forEach(DEVICE, 10, LoopsTest::store);
    assertThat(Kernels.sum(DEVICE, 1000, LoopsTest::square)).isEqualTo(332_833_500);
  }

  @Test
  void sumsAreThoseOfPlainJava() {
    for (int n : new int[] {0, 1, 31, 257, 50_000}) {
      var x = new double[n];
      Arrays.setAll(x, i -> 1.0 / (i + 1));
      double expected = Arrays.stream(x).map(each -> each * each).sum();
      double sum = Kernels.sum(DEVICE, n, i -> x[i] * x[i]);
      assertThat(sum).isCloseTo(expected, within(1e-14 * n + 1e-300));
    }
  }

  @Test
  void aFailedCheckNamesTheLineOfTheBody() {
    var x = new int[10];
    assertThatExceptionOfType(CheckFailedException.class)
        .isThrownBy(() -> Kernels.forEach(DEVICE, 11, i -> x[i] = 1))
        .withMessageMatching(
            "LoopsTest.java:\\d+: index 10 is out of bounds for `x`, which has 10 elements, in thread \\(10, 0, 0\\) of block \\(0, 0, 0\\) of lambda.*forEach");
  }

  @Test
  void functionsThatCannotRunAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.forEach(DEVICE, 1, _ -> field++))
        .withMessage(
            "a lambda of a loop cannot use fields or methods of its object; copy what it reads to local variables");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.forEach(DEVICE, -1, _ -> {}))
        .withMessage("a loop has at least 0 indices, got -1");
    var text = new StringBuilder();
    assertThatExceptionOfType(LiftException.class)
        .isThrownBy(() -> Kernels.forEach(DEVICE, 1, i -> text.append(i)))
        .withMessageContaining("the parameter text has the type StringBuilder");
  }

  @GpuKernel(blockSize = 64)
  static void strided(int[] x, int n) {
    int first = threadIdxX();
    Gpu.forEach(n, i -> x[i] = i % 64 == first ? 1 : 2);
  }

  @Test
  void kernelsLoopOverTheGrid() {
    var x = new int[1000];
    var kernel = Kernels.of(LoopsTest::strided);
    kernel.on(DEVICE).launch(1, x, 1000);
    assertThat(x).containsOnly(1);
    var inJava = new int[1000];
    kernel.inJava().launch(3, inJava, 1000);
    assertThat(inJava).containsOnly(1);
  }
}
