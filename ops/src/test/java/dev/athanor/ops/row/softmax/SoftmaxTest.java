package dev.athanor.ops.row.softmax;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.row.RowCases;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Properties of softmax. */
@Tag(TestTier.THOROUGH_TAG)
class SoftmaxTest {

  private static final Op SOFTMAX = Runner.op("softmax");
  private static final Op DROPOUT = Runner.op("softmax-dropout");
  private static final Attributes PLAIN = Attributes.of(SOFTMAX.description(), Map.of());
  private static final Attributes CAUSAL =
      Attributes.of(SOFTMAX.description(), Map.of("causal", true));

  /** Checks every plan against the reference and returns their results. */
  private static List<double[]> softmax(HostTensor x, Attributes attributes, Tolerance tolerance) {
    return Runner.check(SOFTMAX, Map.of("x", x), attributes, tolerance).stream()
        .map(outputs -> y(outputs))
        .toList();
  }

  private static double[] y(Map<String, HostTensor> outputs) {
    return Objects.requireNonNull(outputs.get("y")).toDoubles();
  }

  private static HostTensor row(double... values) {
    return HostTensor.of(TensorType.of(DType.F32, values.length), values);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 13, 31, 33, 63, 65, 100, 127, 1000, 1024, 4096})
  void matchesTheReferenceForEveryDtype(int n) {
    var random = new Random(n);
    for (var dtype : RowCases.DTYPES) {
      var x = new Draw(random).uniform(-50, 50, TensorType.of(dtype, 2, n));
      for (var y : softmax(x, PLAIN, Softmax.tolerance(dtype))) {
        double sum = Arrays.stream(y).sum();
        assertThat(sum).isCloseTo(2, within(dtype == DType.F32 ? 1e-4 : 2e-2));
      }
    }
  }

  @Test
  void equalInputsHaveEqualProbabilities() {
    for (double value : new double[] {0, -3, 1e4, -1e4, 3e38}) {
      for (int n : new int[] {1, 2, 32, 100, 300}) {
        var x = new double[n];
        Arrays.fill(x, value);
        for (var y : softmax(row(x), PLAIN, Tolerance.maximum(1e-7))) {
          for (double each : y) {
            assertThat(each).isCloseTo(1.0 / n, within(1e-7));
          }
        }
      }
    }
  }

  @Test
  void largeNumbersDoNotOverflow() {
    for (var y : softmax(row(1e4, 1e4 - 1, -1e4, 9_990), PLAIN, Tolerance.maximum(1e-6))) {
      assertThat(Arrays.stream(y).sum()).isCloseTo(1, within(1e-6));
      assertThat(y[2]).isZero();
    }
  }

  @Test
  void appliesTheScale() {
    var x = new Draw(new Random(3)).normal(0, 10, TensorType.of(DType.F32, 4, 77));
    for (double scale : new double[] {1e-30, 0.088, 1, 30, 1e30}) {
      softmax(
          x, Attributes.of(SOFTMAX.description(), Map.of("scale", scale)), Tolerance.maximum(1e-6));
    }
  }

  @Test
  void causalResultsAreLowerTriangular() {
    for (var y :
        softmax(
            HostTensor.zeros(TensorType.of(DType.F32, 2, 4, 4)), CAUSAL, Tolerance.maximum(1e-7))) {
      for (int i = 0; i < 32; i++) {
        int row = i / 4 % 4;
        assertThat(y[i]).isEqualTo(i % 4 <= row ? (double) (1f / (row + 1)) : 0);
      }
    }
  }

  /** The last row sees the last key, for any lengths; rows before the first key see nothing. */
  @Test
  void causalMaskAlignsTheLastRowWithTheLastKey() {
    for (var y :
        softmax(
            HostTensor.zeros(TensorType.of(DType.F32, 5, 2)), CAUSAL, Tolerance.maximum(1e-7))) {
      assertThat(y).containsExactly(0, 0, 0, 0, 0, 0, 1, 0, 0.5, 0.5);
    }
    for (var y :
        softmax(
            HostTensor.zeros(TensorType.of(DType.F32, 2, 3)), CAUSAL, Tolerance.maximum(1e-6))) {
      assertThat(y[2]).isZero();
      assertThat(y[0]).isEqualTo(0.5);
    }
  }

  @Test
  void maskedElementsAreZero() {
    double hidden = Double.NEGATIVE_INFINITY;
    for (var y : softmax(row(hidden, hidden, hidden), PLAIN, Tolerance.exact())) {
      assertThat(y).containsExactly(0, 0, 0);
    }
    for (var y : softmax(row(hidden, 5, hidden), PLAIN, Tolerance.exact())) {
      assertThat(y).containsExactly(0, 1, 0);
    }
  }

  /** NaN or infinity makes its row NaN and does not affect other rows. */
  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY})
  void nanFillsItsRow(double value) {
    var x = HostTensor.of(TensorType.of(DType.F32, 2, 3), 1, value, 2, 4, 4, 4);
    for (var y : softmax(x, PLAIN, Tolerance.maximum(1e-7))) {
      assertThat(Arrays.copyOf(y, 3)).containsOnly(Double.NaN);
      assertThat(y[3]).isCloseTo(1 / 3.0, within(1e-7));
    }
  }

  /** Rows with masked parts, NaN or infinity, in every plan for a large GPU. */
  @ParameterizedTest
  @CsvSource({"false, false", "true, false", "false, true"})
  void splitRowsMatchTheReference(boolean causal, boolean dropout) {
    int n = 33_001;
    var x = new Draw(new Random(7)).normal(DType.F32, 6, n);
    fill(x, n, 2 * n, Double.NEGATIVE_INFINITY);
    fill(x, 2 * n, 2 * n + 20_000, Double.NEGATIVE_INFINITY);
    // far below 0, which replaces the maximum of a masked part
    fill(x, 2 * n + 20_000, 3 * n, -1000);
    fill(x, 3 * n + 30_000, 3 * n + 30_001, Double.NaN);
    fill(x, 4 * n + 5, 4 * n + 6, Double.POSITIVE_INFINITY);
    var inputs = new HashMap<>(Map.of("x", x));
    if (dropout) {
      inputs.put("mask", new Draw(new Random(8)).integers(0, 1, TensorType.of(DType.U8, 6, n)));
    }
    var op = dropout ? DROPOUT : SOFTMAX;
    var attributes = Attributes.of(op.description(), Map.of("causal", causal));
    var expected = Objects.requireNonNull(op.reference(inputs, attributes).get("y"));
    var plans = op.plans(HostTensor.types(inputs), attributes, TestDevices.H200);
    assertThat(plans).extracting(Plan::kernel).anyMatch(name -> name.startsWith("softmax_split"));
    for (var plan : plans) {
      double error = Tolerance.maximum(1e-6).error(y(Runner.run(plan, inputs)), expected);
      assertThat(error).as(plan.kernel()).isLessThanOrEqualTo(1e-6);
    }
  }

  private static void fill(HostTensor x, int from, int to, double value) {
    for (int i = from; i < to; i++) {
      DType.F32.write(x.data(), i, value);
    }
  }

  @Test
  void supportsMoreRowsThanTheGridLimit() {
    var x = HostTensor.zeros(TensorType.of(DType.F32, 70_000, 1));
    var plan = Runner.plans(SOFTMAX, Map.of("x", x), PLAIN).getFirst();
    assertThat(y(Runner.run(plan, Map.of("x", x)))).containsOnly(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"U8", "BOOL"})
  void dropoutAppliesTheMask(DType dtype) {
    var x = new Draw(new Random(5)).normal(DType.F32, 3, 65);
    var attributes = Attributes.of(DROPOUT.description(), Map.of("probability", 0.2));
    var none = HostTensor.zeros(TensorType.of(dtype, 3, 65));
    var all = new Draw(new Random(6)).integers(1, 1, none.type());
    for (var outputs :
        Runner.check(DROPOUT, Map.of("x", x, "mask", none), attributes, Tolerance.exact())) {
      assertThat(y(outputs)).containsOnly(0);
    }
    for (var outputs :
        Runner.check(DROPOUT, Map.of("x", x, "mask", all), attributes, Tolerance.maximum(1e-6))) {
      assertThat(Arrays.stream(y(outputs)).sum()).isCloseTo(3 / 0.8, within(1e-5));
    }
  }

  /** Any nonzero byte keeps an element. Dropped elements are 0 even in rows of NaN. */
  @Test
  void dropoutAcceptsAnyNonzeroByte() {
    var mask = HostTensor.of(TensorType.of(DType.U8, 4), 0, 1, 2, 255);
    var attributes = Attributes.of(DROPOUT.description(), Map.of("probability", 0.5));
    for (var outputs :
        Runner.check(
            DROPOUT, Map.of("x", row(3, 3, 3, 3), "mask", mask), attributes, Tolerance.exact())) {
      assertThat(y(outputs)).containsExactly(0, 0.5, 0.5, 0.5);
    }
    for (var outputs :
        Runner.check(
            DROPOUT,
            Map.of("x", row(Double.NaN, 3, 3, 3), "mask", mask),
            attributes,
            Tolerance.exact())) {
      assertThat(y(outputs)).containsExactly(0, Double.NaN, Double.NaN, Double.NaN);
    }
  }

  /** As in PyTorch, a probability of 1 drops all elements, including those that the mask keeps. */
  @Test
  void probabilityOneDropsAllElements() {
    var inputs =
        Map.of(
            "x", new Draw(new Random(1)).normal(DType.F32, 3, 40),
            "mask", Tensors.filled(TensorType.of(DType.U8, 3, 40), 1));
    for (var y : Runner.all(DROPOUT, inputs, Map.of("probability", 1), "y").values()) {
      assertThat(y).containsOnly(0);
    }
  }
}
