package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.TestTier;
import java.lang.reflect.Array;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** Runs each sample as plain Java and on the emulator, and assembles it. */
@Tag(TestTier.THOROUGH_TAG)
class SampleKernelsTest {
  private static final Random RANDOM = new Random(1);

  /** The inner extent of the product on tensor cores. */
  private static final int DEPTH = TestTier.choose(32, 160, 160);

  /**
   * A run of a sample.
   *
   * @param tolerance relative error of floating-point results
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Run(JavaKernel kernel, Dim3 grid, double tolerance, Object... arguments) {
    @Override
    public String toString() {
      return kernel.name();
    }
  }

  private static float[] floats(int n) {
    var all = new float[n];
    for (int i = 0; i < n; i++) {
      all[i] = (float) RANDOM.nextGaussian();
    }
    return all;
  }

  private static final double[] SPECIAL = {
    0,
    -0.0,
    1.5,
    -1.5,
    2.5,
    127.9,
    128,
    -129,
    65535.7,
    65536,
    1e9,
    3e9,
    -3e9,
    1e18,
    1e19,
    -1e19,
    1e300,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.MIN_VALUE,
    1e-40,
    0x1p-24
  };

  static final List<Run> RUNS =
      List.of(
          new Run(
              Kernels.of(SampleKernels::saxpy),
              Dim3.of(4),
              0,
              floats(1000),
              floats(1000),
              2.5f,
              1000),
          new Run(
              Kernels.of(SampleKernels::siluGate),
              Dim3.of(2),
              1e-5,
              floats(1000),
              floats(1000),
              new float[1000],
              1000),
          new Run(
              Kernels.of(SampleKernels::softmax),
              Dim3.of(3),
              1e-5,
              floats(900),
              new float[900],
              300),
          new Run(
              Kernels.of(SampleKernels::layerNorm),
              Dim3.of(3),
              1e-5,
              floats(900),
              floats(300),
              floats(300),
              new float[900],
              300,
              1e-5f),
          new Run(
              Kernels.of(SampleKernels::product),
              Dim3.of(2, 3),
              0,
              floats(48 * 64),
              floats(64 * 32),
              new float[48 * 32],
              32,
              64),
          new Run(
              Kernels.of(SampleKernels::histogram), Dim3.of(3), 0, bytes(5000), new int[64], 5000),
          new Run(
              Kernels.of(SampleKernels::reduce), Dim3.of(3), 0, floats(5000), new float[3], 5000),
          new Run(
              Kernels.of(SampleKernels::scan),
              Dim3.of(2),
              0,
              RANDOM.ints(256, -100, 100).toArray(),
              new int[256]),
          new Run(
              Kernels.of(SampleKernels::mandelbrot),
              Dim3.of(3, 4),
              0,
              new int[40 * 30],
              40,
              30,
              0.07),
          new Run(
              Kernels.of(SampleKernels::life),
              Dim3.of(3, 2),
              0,
              booleans(40 * 30),
              new boolean[40 * 30],
              40,
              30),
          new Run(
              Kernels.of(SampleKernels::transpose),
              Dim3.of(2, 3),
              0,
              floats(50 * 70),
              new float[50 * 70],
              50,
              70),
          new Run(
              Kernels.of(SampleKernels::hash),
              Dim3.of(4),
              0,
              RANDOM.longs(250).toArray(),
              new int[250],
              250),
          new Run(
              Kernels.of(SampleKernels::dot),
              Dim3.of(2),
              0,
              RANDOM.doubles(700).toArray(),
              RANDOM.doubles(700).toArray(),
              new double[2],
              700),
          new Run(
              Kernels.of(SampleKernels::stencil),
              Dim3.of(3, 2),
              0,
              floats(40 * 30),
              new float[40 * 30],
              40,
              30),
          new Run(
              Kernels.of(SampleKernels::control),
              Dim3.of(4),
              0,
              RANDOM.ints(250).toArray(),
              new int[250],
              250),
          new Run(
              Kernels.of(SampleKernels::casts),
              Dim3.of(1),
              0,
              SPECIAL,
              new long[SPECIAL.length],
              SPECIAL.length),
          new Run(
              Kernels.of(SampleKernels::tensorProduct),
              Dim3.of(2, 3),
              1e-5,
              halves(96 * DEPTH),
              halves(DEPTH * 64),
              new float[96 * 64],
              64,
              DEPTH),
          new Run(
              Kernels.of(SampleKernels::luminance),
              Dim3.of(2),
              0,
              bytes(4 * 500),
              new float[500],
              500),
          new Run(
              Kernels.of(SampleKernels::functions),
              Dim3.of(2),
              1e-6,
              floats(100),
              new float[700],
              new double[600],
              100));

  private static short[] halves(int n) {
    var all = new short[n];
    for (int i = 0; i < n; i++) {
      all[i] = Float.floatToFloat16((float) RANDOM.nextGaussian());
    }
    return all;
  }

  private static byte[] bytes(int n) {
    var all = new byte[n];
    RANDOM.nextBytes(all);
    return all;
  }

  private static boolean[] booleans(int n) {
    var all = new boolean[n];
    for (int i = 0; i < n; i++) {
      all[i] = RANDOM.nextBoolean();
    }
    return all;
  }

  private static Object[] copy(Object[] arguments) {
    return Stream.of(arguments).map(SampleKernelsTest::copy).toArray();
  }

  private static Object copy(Object argument) {
    if (!argument.getClass().isArray()) {
      return argument;
    }
    int n = Array.getLength(argument);
    var copy = Array.newInstance(argument.getClass().getComponentType(), n);
    System.arraycopy(argument, 0, copy, 0, n);
    return copy;
  }

  @ParameterizedTest
  @FieldSource("RUNS")
  void computesOnTheEmulatorWhatPlainJavaComputes(Run run) {
    var expected = inJava(run);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      for (boolean checked : new boolean[] {true, false}) {
        compute(run, run.kernel, device, checked, expected);
        if (checked || TestTier.current() != TestTier.QUICK) {
          compute(run, run.kernel.debugged(), device, checked, expected);
        }
      }
    }
  }

  /** Returns the arguments after a run in plain Java. */
  static Object[] inJava(Run run) {
    var arguments = copy(run.arguments);
    PlainJava.run(
        run.kernel.method(),
        run.grid,
        run.kernel.blockSize().orElseThrow(),
        0,
        GpuThread.STANDARD_OUTPUT,
        arguments);
    return arguments;
  }

  /** Runs a kernel on a device, and compares its arguments with those of another run. */
  static void compute(
      Run run, JavaKernel kernel, Device device, boolean checked, Object[] expected) {
    var actual = copy(run.arguments);
    kernel.on(device).checked(checked).launch(run.grid, actual);
    for (int i = 0; i < expected.length; i++) {
      assertSame(run, i, actual[i], expected[i]);
    }
  }

  private static void assertSame(Run run, int argument, Object actual, Object expected) {
    if (run.tolerance == 0 || !expected.getClass().isArray()) {
      assertThat(actual).as("argument %d of %s", argument, run).isEqualTo(expected);
      return;
    }
    for (int i = 0; i < Array.getLength(expected); i++) {
      double want = Array.getDouble(expected, i);
      if (Double.isNaN(want)) {
        assertThat(Array.getDouble(actual, i)).isNaN();
        continue;
      }
      assertThat(Math.abs(Array.getDouble(actual, i) - want))
          .as("argument %d of %s at %d", argument, run, i)
          .isLessThanOrEqualTo(run.tolerance * Math.max(1, Math.abs(want)));
    }
  }

  @ParameterizedTest
  @FieldSource("RUNS")
  void assemblesWithoutSpills(Run run) {
    var assembler = Assemblers.any();
    for (boolean checked : new boolean[] {true, false}) {
      var module = run.kernel.module(checked);
      for (var target : TestTier.sample(List.of(Target.SM_80, Target.SM_89, Target.SM_90), 3)) {
        var code = assembler.assemble(module.toString(), target);
        assertThat(code.of(run.kernel.name()).spillStoreBytes()).as("%s", run).isZero();
      }
    }
  }
}
