package dev.athanor.ops.map;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ElementwiseTest {

  private static double[] apply(String op, Map<String, ?> attributes, DType dtype, double... x) {
    var input = HostTensor.of(TensorType.of(dtype, x.length), x);
    return Runner.run(Runner.op(op), Map.of("x", input), attributes, "y").toDoubles();
  }

  /**
   * Regression test: a tanh computed from exponentials overflowed to 0 from 43.7 and to NaN from
   * 44.4.
   */
  @Test
  void tanhSaturates() {
    double[] x = {9.1, 20, 43.7, 44, 44.3, 44.5, 88, 89, 1e4, 3e38, Double.POSITIVE_INFINITY};
    var y = apply("tanh", Map.of(), DType.F32, x);
    var negative = x.clone();
    for (int i = 0; i < x.length; i++) {
      assertThat(y[i]).as("tanh(%s)", x[i]).isEqualTo(1);
      negative[i] = -x[i];
    }
    assertThat(apply("tanh", Map.of(), DType.F32, negative)).containsOnly(-1.0);
  }

  /** Near 0, {@code 1 - e} would cancel. */
  @Test
  void tanhIsAccurateNearZero() {
    double[] x = {0.6, 0.5500001, 0.5499999, 0.25, 1e-2, 1e-4, 1e-10, 1e-30, 1e-40};
    var y = apply("tanh", Map.of(), DType.F32, x);
    for (int i = 0; i < x.length; i++) {
      double expected = Math.tanh((float) x[i]);
      assertThat(Math.abs(y[i] - expected))
          .as("tanh(%s)", x[i])
          .isLessThanOrEqualTo(3e-7 * expected + 1e-45);
    }
  }

  /** Regression test: the tanh in the tanh form overflowed. */
  @Test
  void geluReturnsArgumentsFromTen() {
    for (var form : List.of("erf", "tanh", "sigmoid")) {
      double[] x = {10, 10.5, 11, 44, 1e4, 1e20, 3e38};
      assertThat(apply("gelu", Map.of("form", form), DType.BF16, x))
          .as(form)
          .isEqualTo(HostTensor.of(TensorType.of(DType.BF16, x.length), x).toDoubles());
    }
  }

  @ParameterizedTest
  @CsvSource({"relu", "gelu", "silu", "tanh"})
  void keepsTheSignOfZero(String op) {
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16)) {
      var y = apply(op, Map.of(), dtype, 0.0, -0.0);
      assertThat(1 / y[0]).isEqualTo(Double.POSITIVE_INFINITY);
      assertThat(1 / y[1]).isEqualTo(Double.NEGATIVE_INFINITY);
    }
  }

  /** The tails below 0 are small but accurate: no number near 1 is subtracted from 1. */
  @Test
  void tailsAreAccurate() {
    double[] x = {-3, -5, -8, -10, -12};
    var y = apply("gelu", Map.of(), DType.F32, x);
    // x·erfc(-x/√2)/2 to twelve digits
    double[] expected = {
      -4.04969409489e-3,
      -1.4332578594e-6,
      -4.97676845942e-15,
      -7.61985302416e-23,
      -2.13177853449e-32
    };
    for (int i = 0; i < x.length; i++) {
      assertThat(y[i] / expected[i]).as("gelu(%s)", x[i]).isBetween(1 - 2e-5, 1 + 2e-5);
    }
    assertThat(apply("silu", Map.of(), DType.F32, -87)[0] / (-87 * Math.exp(-87)))
        .isBetween(1 - 2e-5, 1 + 2e-5);
  }

  @Test
  void broadcastsLikeNumpy() {
    var a = HostTensor.of(TensorType.of(DType.F32, 2, 1, 3), 1, 2, 3, 4, 5, 6);
    var b = HostTensor.of(TensorType.of(DType.F32, 2, 1), 10, 20);
    var y = Runner.run(Runner.op("add"), Map.of("a", a, "b", b), Map.of(), "y");
    assertThat(y.type()).isEqualTo(TensorType.of(DType.F32, 2, 2, 3));
    assertThat(y.toDoubles()).containsExactly(11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26);
  }

  /** Splitting an output over several launches, at any element, does not change the result. */
  @ParameterizedTest
  @ValueSource(ints = {40, 37})
  void severalLaunchesMatchOne(int width) {
    var draw = new Draw(new Random(1));
    var shapes = List.of(Shape.of(3, 1, width), Shape.of(5, 1));
    var output = TensorType.of(DType.F16, 3, 5, width);
    var inputs =
        Map.of(
            "a", draw.normal(0, 1, new TensorType(DType.F16, shapes.getFirst())),
            "b", draw.normal(0, 1, new TensorType(DType.F16, shapes.getLast())));
    var planner =
        new ElementwisePlanner(
            "add",
            new Formula(Formula.Combination.SUM, Activation.NONE),
            Loops.broadcast(output.shape(), shapes),
            List.of("a", "b"),
            DType.F16,
            DType.F16,
            output,
            Conversion.usual(DType.F16),
            Arguments.NONE);
    var cost = new Plan.Cost(600, 2000);
    var whole =
        Runner.run(planner.plans(cost, TestDevices.H200).getFirst(), inputs, "y").toDoubles();
    for (long most : new long[] {16, 48, 96, 256}) {
      var plan = planner.plans(cost, TestDevices.H200, most).getFirst();
      assertThat((long) plan.steps().size()).isGreaterThanOrEqualTo(15L * width / most);
      assertThat(Runner.run(plan, inputs, "y").toDoubles())
          .as("parts of %d", most)
          .isEqualTo(whole);
    }
  }

  @ParameterizedTest
  @CsvSource({
    // overflow, ties and NaN as in NumPy and the OCP specification
    "F32, E4M3, 449, 448",
    "F32, E4M3, 1e30, 448",
    "F32, E4M3, Infinity, 448",
    "F32, E4M3, 0.0009765625, 0",
    "F32, E4M3, 0.0029296875, 0.00390625",
    "F32, E5M2, 61439, 57344",
    "F32, E5M2, 61440, Infinity",
    "F32, F16, 65519, 65504",
    "F32, F16, 65520, Infinity",
    "F64, BF16, 1.00390625, 1",
    "F64, BF16, 1.0039062500000002, 1.0078125",
    "F32, I8, 2.5, 2",
    "F32, I8, 2.9, 2",
    "F32, I8, -3.5, -3",
    "F16, I32, -0.999, 0",
    "BF16, U8, 254.5, 254",
    "F64, I64, -1.9999999999999998, -1",
    "F64, I64, Infinity, 9223372036854775807",
    "F64, U32, -0.5, 0",
    "F32, I8, 300, 127",
    "F32, U8, -1, 0",
    "F32, U32, 1e10, 4294967295",
    "F64, I32, NaN, 0",
    "F64, I64, NaN, 0",
    "F32, I64, -Infinity, -9223372036854775808",
    "F32, BOOL, NaN, 1",
    "F32, BOOL, -0.0, 0",
    "F32, F64, 0.1, 0.10000000149011612"
  })
  void castsRoundOnceAndSaturate(DType from, DType to, double x, double y) {
    assertThat(apply("cast", Map.of("to", to.text()), from, x)).containsExactly(y);
  }

  @ParameterizedTest
  @CsvSource({
    "nearest-even, 2.5, 2",
    "nearest-even, -3.5, -4",
    "nearest-even, -0.5, 0",
    "nearest-even, 127.5, 127",
    "floor, -2.25, -3",
    "floor, 2.75, 2",
    "floor, 1e9, 127",
    "ceil, -2.75, -2",
    "ceil, 2.25, 3",
    "ceil, NaN, 0",
    "truncate, -2.75, -2",
    "truncate, 2.75, 2"
  })
  void castsApplyTheRoundingMode(String round, double x, double y) {
    for (var from : List.of(DType.F64, DType.F32)) {
      assertThat(apply("cast", Map.of("to", "i8", "round", round), from, x)).containsExactly(y);
    }
  }

  /** Casts truncate like {@code (int) x}. */
  @Test
  void castsToIntegersTruncate() {
    long seed = TestTier.seed();
    System.out.println("castsToIntegersTruncate: seed " + seed);
    var random = new Random(seed);
    var x = random.doubles(256, -1e9, 1e9).map(v -> (float) (v * random.nextDouble())).toArray();
    var whole = DoubleStream.of(x).map(v -> (int) v).toArray();
    assertThat(apply("cast", Map.of("to", "i32"), DType.F32, x)).isEqualTo(whole);
    assertThat(apply("cast", Map.of("to", "i64"), DType.F32, x)).isEqualTo(whole);
  }

  /** The expected numbers are those of ONNX's Cast with saturate 1 and 0. */
  @ParameterizedTest
  @CsvSource({
    "F32, E5M2, true, 61440, 57344",
    "F32, E5M2, true, Infinity, 57344",
    "F32, E5M2, true, -1e30, -57344",
    "F32, E5M2, true, NaN, NaN",
    "F64, E5M2, true, 1e300, 57344",
    "E5M2, E5M2, true, -Infinity, -57344",
    "I64, E5M2, true, 1000000, 57344",
    "F32, E5M2, false, 61439, 57344",
    "F32, E5M2, false, 61440, Infinity",
    "F32, E4M3, true, Infinity, 448",
    "F32, E4M3, false, 448, 448",
    "F32, E4M3, false, 464, 448",
    "F32, E4M3, false, 464.00003, NaN",
    "F16, E4M3, false, -Infinity, NaN",
    "I32, E4M3, false, 500, NaN",
    "F32, F16, true, 65520, 65504",
    "F32, F16, true, -Infinity, -65504",
    "F32, F16, true, NaN, NaN",
    "I32, F16, true, -70000, -65504",
    "I32, F16, true, 2049, 2048",
    "F16, F16, true, Infinity, 65504",
    "F64, BF16, true, 1e300, 3.3895313892515355e38",
    "F64, F32, true, -1e300, -3.4028234663852886e38",
    "F32, F32, true, Infinity, 3.4028234663852886e38",
    "F32, F64, true, -Infinity, -1.7976931348623157e308",
    "F64, F64, true, Infinity, 1.7976931348623157e308"
  })
  void castsApplyTheSaturateAttribute(DType from, DType to, boolean saturate, double x, double y) {
    assertThat(apply("cast", Map.of("to", to.text(), "saturate", saturate), from, x))
        .containsExactly(y);
  }

  @Test
  void castsIntegersBeyondFloat64() {
    var x = HostTensor.zeros(TensorType.of(DType.I64, 2));
    // via f64 the first would be rounded to a tie, and then to an even number
    DType.I64.writeLong(x.data(), 0, (1L << 60) + (1L << 36) + 1);
    DType.I64.writeLong(x.data(), 1, Long.MAX_VALUE);
    assertThat(Runner.run(Runner.op("cast"), Map.of("x", x), Map.of("to", "f32"), "y").toDoubles())
        .containsExactly(0x1.000002p60, 0x1p63);
    var same = Runner.run(Runner.op("cast"), Map.of("x", x), Map.of("to", "i64"), "y");
    assertThat(DType.I64.readLong(same.data(), 0)).isEqualTo((1L << 60) + (1L << 36) + 1);
  }
}
