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

  @GpuKernel(blockSize = 1)
  static void angles(double[] x, double[] sines, double[] cosines, float[] floats) {
    for (int i = 0; i < x.length; i++) {
      sines[i] = Math.sin(x[i]);
      cosines[i] = Math.cos(x[i]);
      float f = (float) x[i];
      floats[i] = (float) Math.sin(f);
    }
  }

  @Test
  void anglesAreReduced() {
    double[] x = {
      -0.0,
      1,
      -3,
      Math.PI / 2,
      Math.PI,
      1e5,
      1e15,
      1e17,
      -1e18,
      1e50,
      1e300,
      Double.MAX_VALUE,
      Double.NEGATIVE_INFINITY,
      6381956970095103.0 * 0x1p797
    };
    var sines = new double[x.length];
    var cosines = new double[x.length];
    var floats = new float[x.length];
    try (var device = new EmulatedDevice()) {
      Kernels.of(MathOnDeviceTest::angles).on(device).launch(1, x, sines, cosines, floats);
    }
    for (int i = 0; i < x.length; i++) {
      assertClose(sines[i], StrictMath.sin(x[i]), Math.ulp(StrictMath.sin(x[i])), x[i]);
      assertClose(cosines[i], StrictMath.cos(x[i]), Math.ulp(StrictMath.cos(x[i])), x[i]);
      float want = (float) StrictMath.sin((float) x[i]);
      assertClose(floats[i], want, 2 * Math.ulp(want), (float) x[i]);
    }
  }

  @GpuKernel(blockSize = 1)
  static void others(double[] x, double[] result, float[] floats) {
    for (int i = 0; i < x.length; i++) {
      double v = x[i];
      int at = 14 * i;
      result[at] = Math.tan(v);
      result[at + 1] = Math.atan(v);
      result[at + 2] = Math.asin(v);
      result[at + 3] = Math.acos(v);
      result[at + 4] = Math.log10(v);
      result[at + 5] = Math.log1p(v);
      result[at + 6] = Math.expm1(v);
      result[at + 7] = Math.cbrt(v);
      result[at + 8] = Math.atan2(v, 0.3);
      result[at + 9] = Math.hypot(v, 0.3);
      result[at + 10] = Math.toRadians(v);
      result[at + 11] = Math.toDegrees(v);
      result[at + 12] = Math.copySign(v, -v);
      result[at + 13] = (double) (Double.doubleToLongBits(v) + Float.floatToIntBits((float) v));
      float f = (float) v;
      floats[i] = (float) Math.atan2(f, 0.5) + (float) Math.cbrt(f) + (float) Math.log1p(f);
    }
  }

  @Test
  void otherFunctionsEqualTheLibrary() {
    double[] x = {-0.0, 0.3, -0.9, 1, 5, 1e10, -1e-10, 1e300, Double.NaN, 1 / 0.0};
    var onDevice = new double[14 * x.length];
    var inJava = new double[14 * x.length];
    var floats = new float[x.length];
    var inJavaFloats = new float[x.length];
    try (var device = new EmulatedDevice()) {
      Kernels.of(MathOnDeviceTest::others).on(device).launch(1, x, onDevice, floats);
    }
    others(x, inJava, inJavaFloats);
    for (int i = 0; i < onDevice.length; i++) {
      assertClose(onDevice[i], inJava[i], 4 * Math.ulp(inJava[i]), x[i / 14]);
    }
    for (int i = 0; i < floats.length; i++) {
      assertClose(floats[i], inJavaFloats[i], 2 * Math.ulp(inJavaFloats[i]), x[i]);
    }
  }

  private static void assertClose(double got, double want, double error, double x) {
    boolean close = Double.compare(got, want) == 0 || (Math.abs(got - want) <= error && want != 0);
    assertThat(close).as("at %s: %s, got %s", x, want, got).isTrue();
  }
}
