package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Records of numbers, and enums, as parameters of kernels. */
@SuppressWarnings({"EnumOrdinal", "NullAway"}) // what kernels may do, and what launches refuse
class RecordParametersTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  enum Mode {
    ADD {
      @Override
      public String toString() {
        return "+";
      }
    },
    MULTIPLY
  }

  record Bounds(short least, double most, boolean isOpen) {
    boolean contains(double value) {
      return isOpen ? least < value && value < most : least <= value && value <= most;
    }
  }

  record Options(float a, int n, long k, Bounds bounds, byte step, char letter, Mode mode) {
    Options {
      if (n < 0) {
        throw new IllegalArgumentException("n");
      }
    }
  }

  @GpuKernel(blockSize = 32)
  static void all(Options before, double[] out, Mode mode, Options options) {
    int i = threadIdxX();
    if (i < options.n) {
      double x = options.a() * i + options.step;
      double y = mode == Mode.ADD ? x + before.k() : x * before.k();
      out[i] = options.bounds().contains(y) ? y : options.letter() + options.mode().ordinal();
    }
  }

  private static Object[] arguments() {
    return new Object[] {
      new Options(1, 2, 1L << 40, new Bounds((short) 1, 2, true), (byte) 3, 'a', Mode.ADD),
      new double[32],
      Mode.MULTIPLY,
      new Options(0.5f, 30, 7, new Bounds((short) -3, 1e13, false), (byte) -7, 'ä', Mode.MULTIPLY)
    };
  }

  @Test
  void aKernelGivesWhatPlainJavaGives() {
    var kernel = Kernels.of(RecordParametersTest::all);
    var expected = arguments();
    kernel.inJava().launch(1, expected);
    for (var each :
        new DeviceKernel[] {
          kernel.on(DEVICE), kernel.on(DEVICE).checked(false), kernel.debugged().on(DEVICE)
        }) {
      var onDevice = arguments();
      each.launch(1, onDevice);
      assertThat(onDevice[1]).isEqualTo(expected[1]);
    }
    assertThat((double[]) expected[1]).contains('ä' + 1, 7.5 * (1L << 40), 0);
  }

  @Test
  void aRecordIsPassedAsItsNumbers() {
    var kernel = Kernels.of(RecordParametersTest::all);
    assertThat(kernel.module(false).kernels().getFirst().parameters())
        .extracting(Kernel.Parameter::name)
        .startsWith("before$002Ea", "before$002En", "before$002Ek", "before$002Ebounds$002Eleast")
        .hasSize(1 + 1 + 2 * 9 + 1);
    assertThat(kernel.parameters())
        .containsExactly(
            new KernelParameter("before", Options.class, false),
            new KernelParameter("out", double[].class, true),
            new KernelParameter("mode", Mode.class, false),
            new KernelParameter("options", Options.class, false));
  }

  @Test
  void aLambdaUsesRecordsAndEnums() {
    var bounds = new Bounds((short) 3, 5, true);
    var mode = Mode.MULTIPLY;
    var out = new int[8];
    Kernels.forEach(
        DEVICE, 8, i -> out[i] = mode == Mode.ADD ? -1 : bounds.contains(i) ? i : bounds.least);
    assertThat(out).containsExactly(3, 3, 3, 3, 4, 3, 3, 3);
  }

  @Test
  void otherArgumentsAreRefused() {
    var kernel = Kernels.of(RecordParametersTest::all).on(DEVICE);
    var bounds = new Bounds((short) 0, 1, true);
    refuse(kernel, 0, null, "`before` is Options, got null");
    refuse(kernel, 0, bounds, "`before` is Options, got Bounds");
    refuse(kernel, 0, 1, "`before` is Options, got Integer");
    refuse(kernel, 2, null, "`mode` is Mode, got null");
    refuse(kernel, 2, 1, "`mode` is Mode, got Integer");
    refuse(kernel, 1, bounds, "`out` is double[], a DeviceArray<double[]> or a Buffer, got Bounds");
    refuse(
        kernel,
        3,
        new Options(1, 2, 3, null, (byte) 3, 'a', Mode.ADD),
        "Options.bounds is null; a kernel needs a value");
    refuse(
        kernel,
        3,
        new Options(1, 2, 3, bounds, (byte) 3, 'a', null),
        "Options.mode is null; a kernel needs a value");
  }

  private static void refuse(DeviceKernel kernel, int index, Object argument, String sentence) {
    var arguments = arguments();
    arguments[index] = argument;
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, arguments))
        .withMessage(sentence);
  }

  @Test
  void plainJavaRefusesNull() {
    var arguments = arguments();
    arguments[0] = null;
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of(RecordParametersTest::all).inJava().launch(1, arguments))
        .withMessage("cannot launch all: got null for parameter before of type Options");
  }

  @GpuKernel
  static void scale(float[] x, Scale scale) {
    Gpu.forEach(x.length, i -> x[i] = scale.of(x[i]));
  }

  record Scale(float factor, float bias) {
    float of(float x) {
      return Math.fma(factor, x, bias);
    }
  }

  @Test
  void launchesOnAStreamTakeRecords() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new float[] {1, 2, 3})) {
      Kernels.of(RecordParametersTest::scale)
          .on(DEVICE)
          .block(Dim3.of(32))
          .launchAsync(stream, 1, x, new Scale(2, 1));
      assertThat(x.toArray()).containsExactly(3, 5, 7);
    }
  }
}
