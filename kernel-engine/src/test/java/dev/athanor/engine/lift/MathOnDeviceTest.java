package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import org.junit.jupiter.api.Test;

/** Methods of {@link Math} in a lifted kernel, for arguments that a simple formula gets wrong. */
class MathOnDeviceTest {

  @GpuKernel(blockSize = 1)
  static void powers(double[] x, double[] y, double[] result, int[] truncated) {
    for (int i = 0; i < x.length; i++) {
      result[i] = Math.pow(x[i], y[i]);
      truncated[i] = (int) Math.pow(x[i], y[i]);
    }
  }

  @Test
  void powersAreExact() {
    double[] x = {2, 3, 10, 10, 5, -0.0, -0.0, 2, -2, 2, 0.25, 1, -8, -8, Double.NaN, -0.0};
    double[] y = {3, 2, 2, 3, 1, 3, -1, 1024, 1024, -1074, 0.5, 1 / 0.0, 3, 0.5, 0, 0.5};
    var result = new double[x.length];
    var truncated = new int[x.length];
    try (var device = new EmulatedDevice()) {
      Kernels.of(MathOnDeviceTest::powers).on(device).launch(1, x, y, result, truncated);
    }
    for (int i = 0; i < x.length; i++) {
      double want = StrictMath.pow(x[i], y[i]);
      assertThat(Double.compare(result[i], want))
          .as("pow(%s, %s) = %s, got %s", x[i], y[i], want, result[i])
          .isZero();
      assertThat(truncated[i]).as("pow(%s, %s)", x[i], y[i]).isEqualTo((int) want);
    }
  }
}
