package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Records of numbers and arrays, and enums, as parameters of kernels. */
@SuppressWarnings({
  "ArrayRecordComponent",
  "EnumOrdinal",
  "NullAway"
}) // what kernels may do, and what launches refuse
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

  /** A view of rows in a flat array. */
  record Matrix(float[] elements, int rows, int columns, int stride) {
    float get(int row, int column) {
      return elements[row * stride + column];
    }

    void set(int row, int column, float value) {
      elements[row * stride + column] = value;
    }
  }

  record Pair(Matrix from, Matrix to) {}

  @GpuKernel(blockSize = {8, 4})
  static void transpose(Pair matrices, float factor) {
    var from = matrices.from;
    int row = Gpu.threadIdxY() + 4 * Gpu.blockIdxY();
    int column = Gpu.threadIdxX() + 8 * Gpu.blockIdxX();
    if (row < from.rows && column < from.columns) {
      matrices.to.set(column, row, factor * from.get(row, column));
    }
  }

  private static Pair matrices() {
    var from = new Matrix(new float[5 * 12], 5, 10, 12);
    for (int i = 0; i < from.elements.length; i++) {
      from.elements[i] = i;
    }
    return new Pair(from, new Matrix(new float[10 * 7], 10, 5, 7));
  }

  @Test
  void recordsMayHaveArrays() {
    var inJava = matrices();
    Kernels.of(RecordParametersTest::transpose).inJava().launch(Dim3.of(2, 2), inJava, 2f);
    assertThat(inJava.to.get(9, 4)).isEqualTo(2 * (4 * 12 + 9));
    var kernel = Kernels.of(RecordParametersTest::transpose).on(DEVICE);
    var onDevice = matrices();
    kernel.launch(Dim3.of(2, 2), onDevice, 2f);
    assertThat(onDevice.to.elements).isEqualTo(inJava.to.elements);
    assertThat(onDevice.from.elements).isEqualTo(inJava.from.elements);

    var inLambda = matrices();
    Kernels.forEach(
        DEVICE, 50, i -> inLambda.to.set(i % 10, i / 10, 2 * inLambda.from.get(i / 10, i % 10)));
    assertThat(inLambda.to.elements).isEqualTo(inJava.to.elements);
    assertThat(Kernels.of(RecordParametersTest::transpose).parameters())
        .containsExactly(
            new KernelParameter("matrices", Pair.class, true),
            new KernelParameter("factor", float.class, false));
  }

  @Test
  void arraysOfRecordsAreCheckedLikeOthers() {
    var kernel = Kernels.of(RecordParametersTest::transpose).on(DEVICE);
    var from = matrices().from;
    var small = new Pair(from, new Matrix(new float[7], 10, 5, 7));
    assertThatThrownBy(() -> kernel.launch(Dim3.of(2, 2), small, 2f))
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining("`matrices.to.elements`, which has 7 elements");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(Dim3.of(2, 2), new Pair(from, from), 2f))
        .withMessageContaining(
            "`matrices.from.elements` and `matrices.to.elements` are the same memory");
    var none = new Pair(from, new Matrix(null, 10, 5, 7));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(Dim3.of(2, 2), none, 2f))
        .withMessageContaining("`matrices.to.elements` is float[]")
        .withMessageEndingWith("got null");
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
        "`options.bounds` is Bounds, got null");
    refuse(
        kernel,
        3,
        new Options(1, 2, 3, bounds, (byte) 3, 'a', null),
        "`options.mode` is Mode, got null");
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
