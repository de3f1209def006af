package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.util.Arrays;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Enums in kernels give what plain Java gives. */
@SuppressWarnings({"EnumOrdinal", "StatementSwitchToExpressionSwitch"}) // what kernels may do
class EnumsTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  enum Unit {
    METER(1, true),
    KILOMETER(1000, true),
    INCH(0.0254, false);

    private final double meters;
    private final boolean metric;

    Unit(double meters, boolean metric) {
      this.meters = meters;
      this.metric = metric;
    }

    double in(Unit other) {
      return meters / other.meters;
    }

    static Unit largest(Unit a, Unit b) {
      return a.meters > b.meters ? a : b;
    }
  }

  enum Mode {
    ADD,
    SUBTRACT,
    MULTIPLY,
    NONE
  }

  private static int apply(Mode mode, int a, int b) {
    return switch (mode) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case NONE -> 0;
    };
  }

  @GpuKernel(blockSize = 32)
  static void switches(int[] x, double[] out) {
    int i = threadIdxX();
    var mode = Mode.values()[i % Mode.values().length];
    int some = -1;
    switch (mode) {
      case ADD:
        some = 5;
        break;
      case NONE:
        some = 7;
        break;
      default:
        some += i;
    }
    out[i] = apply(mode, x[i], i) + 1000.0 * apply(Mode.MULTIPLY, x[i], 3) + 1e6 * some;
  }

  @GpuKernel(blockSize = 32)
  static void constants(int[] x, double[] out) {
    int i = threadIdxX();
    var unit = x[i] > 0 ? Unit.KILOMETER : Unit.INCH;
    var other = Unit.values()[(x[i] & 0xFF) % 3];
    var largest = Unit.largest(unit, other);
    out[i] =
        unit.in(other)
            + unit.ordinal() * 10
            + (unit == other ? 100 : 200)
            + (other != Unit.METER ? 1000 : 2000)
            + (unit.equals(largest) ? 0.5 : 0.25)
            + unit.compareTo(other) * 1e4
            + (largest.metric ? 1e5 : 2e5);
  }

  @ParameterizedTest
  @ValueSource(strings = {"switches", "constants"})
  void aKernelGivesWhatPlainJavaGives(String name) {
    var x = new int[32];
    Arrays.setAll(x, i -> i * 31 % 17 - 8);
    var kernel = Kernels.of(EnumsTest.class, name);
    var expected = new double[32];
    kernel.inJava().launch(1, x, expected);
    for (boolean checked : new boolean[] {true, false}) {
      var onDevice = new double[32];
      kernel.on(DEVICE).checked(checked).launch(1, x, onDevice);
      assertThat(onDevice).isEqualTo(expected);
    }
    var debugged = new double[32];
    kernel.debugged().on(DEVICE).launch(1, x, debugged);
    assertThat(debugged).isEqualTo(expected);
  }

  @GpuKernel(blockSize = 32)
  static void outside(int[] x) {
    x[threadIdxX()] = apply(Mode.values()[x[threadIdxX()]], 1, 2);
  }

  @Test
  void ordinalsAreChecked() {
    var x = new int[32];
    x[3] = 4;
    assertThatExceptionOfType(CheckFailedException.class)
        .isThrownBy(() -> Kernels.of(EnumsTest::outside).on(DEVICE).launch(1, x))
        .withMessageContaining(
            "index 4 is out of bounds for `EnumsTest.Mode.values()`, which has 4 elements");
  }
}
