package dev.athanor.ops.row.norm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
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
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Properties of norms and their gradients. */
@Tag(TestTier.THOROUGH_TAG)
class NormTest {

  private static Map<String, HostTensor> inputs(Op op, HostTensor x, double gamma, double beta) {
    int n = (int) x.type().shape().extent(-1);
    var inputs = new HashMap<>(Map.of("x", x, "gamma", row(n, gamma)));
    if (op.description().input("beta").isPresent()) {
      inputs.put("beta", row(n, beta));
    }
    return inputs;
  }

  private static HostTensor row(int n, double value) {
    var values = new double[n];
    Arrays.fill(values, value);
    return HostTensor.of(TensorType.of(DType.F32, n), values);
  }

  private static Attributes epsilon(Op op, double epsilon) {
    return Attributes.of(op.description(), Map.of("epsilon", epsilon));
  }

  private static double[] y(Map<String, HostTensor> outputs) {
    return Objects.requireNonNull(outputs.get("y")).toDoubles();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 13, 31, 33, 63, 65, 100, 127, 1000, 1024, 4096})
  void matchesTheReferenceForEveryDtype(int n) {
    var random = new Random(n);
    for (var name : List.of("layer-norm", "rms-norm")) {
      var op = Runner.op(name);
      for (var dtype : RowCases.DTYPES) {
        var x = new Draw(random).normal(3, 2, TensorType.of(dtype, 2, n));
        Runner.check(op, inputs(op, x, 1.5, -0.5), epsilon(op, 1e-5), NormCases.tolerance(dtype));
      }
    }
  }

  /** Includes constants that are not exact in binary, so that their sums are rounded. */
  @ParameterizedTest
  @CsvSource({"0, 1e-6", "1, 1e-6", "10000.123, 1e-5", "-0.1, 1e-5", "1e6, 1e-5"})
  void constantRowsBecomeBeta(double value, double epsilon) {
    var op = Runner.op("layer-norm");
    for (int n : new int[] {1, 3, 100, 1000, 33_004}) {
      for (var outputs :
          Runner.check(
              op,
              inputs(op, row(n, value), 2, 0.25),
              epsilon(op, epsilon),
              Tolerance.maximum(1e-5))) {
        assertThat(y(outputs)[n - 1]).isCloseTo(0.25, within(1e-6));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {1e-6, 1e-5})
  void zeroRowsStayZero(double epsilon) {
    var op = Runner.op("rms-norm");
    for (var outputs :
        Runner.check(op, inputs(op, row(77, 0), 3, 0), epsilon(op, epsilon), Tolerance.exact())) {
      assertThat(y(outputs)).containsOnly(0);
    }
    for (var outputs :
        Runner.check(
            op, inputs(op, row(77, -4), 3, 0), epsilon(op, epsilon), Tolerance.maximum(1e-6))) {
      assertThat(y(outputs)[76]).isCloseTo(-3, within(1e-5));
    }
  }

  /**
   * Computes the variance of numbers far from zero, with an outlier at the start, middle or end.
   */
  @Test
  void varianceDoesNotCancel() {
    var op = Runner.op("layer-norm");
    var random = new Random(7);
    for (int n : new int[] {100, 1000, 40_000}) {
      for (int outlier : new int[] {0, n / 2, n - 1}) {
        var x = new Draw(random).normal(10_000, 1, TensorType.of(DType.F32, 1, n));
        DType.F32.write(x.data(), outlier, -20_000);
        Runner.check(op, inputs(op, x, 1, 0), epsilon(op, 1e-5), Tolerance.maximum(1e-5));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"layer-norm", "rms-norm", "residual-layer-norm", "residual-rms-norm"})
  void omittedWeightsEqualOnesAndZeros(String name) {
    var op = Runner.op(name);
    var draw = new Draw(new Random(19));
    var all = inputs(op, draw.normal(DType.F16, 3, 100), 1, 0);
    if (name.startsWith("residual")) {
      all.put("residual", draw.normal(DType.F16, 3, 100));
    }
    for (var omitted : List.of(Set.of("gamma"), Set.of("beta"), Set.of("gamma", "beta"))) {
      var given = new HashMap<>(all);
      given.keySet().removeAll(omitted);
      var plans = Runner.plans(op, given, epsilon(op, 1e-5));
      var complete = Runner.plans(op, all, epsilon(op, 1e-5));
      for (int i = 0; i < plans.size(); i++) {
        assertThat(y(Runner.run(plans.get(i), given)))
            .containsExactly(y(Runner.run(complete.get(i), all)));
        assertThat(plans.get(i).kernels().getFirst().parameters())
            .extracting(Parameter::name)
            .doesNotContainAnyElementsOf(omitted);
      }
    }
  }

  /** Without gamma, its gradient has the dtype of x. */
  @Test
  void gradientsOfOmittedWeightsHaveTheDtypeOfX() {
    var op = Runner.op("layer-norm-backward");
    var type = TensorType.of(DType.BF16, 4, 6);
    var plan = op.plan(Map.of("grad", type, "x", type), epsilon(op, 1e-5), TestDevices.H200);
    assertThat(plan.outputs())
        .containsEntry("dgamma", TensorType.of(DType.BF16, 6))
        .containsEntry("dbeta", TensorType.of(DType.BF16, 6));
  }

  @Test
  void rejectsBetaThatDoesNotMatchXIfGammaIsOmitted() {
    var op = Runner.op("layer-norm");
    var types = Map.of("x", TensorType.of(DType.F16, 4, 6), "beta", TensorType.of(DType.BF16, 6));
    assertThatThrownBy(() -> op.plan(types, epsilon(op, 1e-5), TestDevices.H200))
        .isInstanceOf(OpException.UnsupportedDType.class)
        .hasMessage("beta is bf16 but x is f16; it must be that or f32");
  }

  /** NaN and infinity produce NaN in their row; subnormal numbers are handled like others. */
  @Test
  void handlesSpecialNumbers() {
    var x =
        HostTensor.of(
            TensorType.of(DType.F32, 4, 3),
            1,
            Double.NaN,
            2,
            Double.POSITIVE_INFINITY,
            1,
            1,
            0x1p-140,
            -0x1p-149,
            0x1p-130,
            1,
            2,
            4);
    for (var name : List.of("layer-norm", "rms-norm")) {
      var op = Runner.op(name);
      for (var outputs :
          Runner.check(op, inputs(op, x, 1, 0), epsilon(op, 1e-5), Tolerance.maximum(1e-5))) {
        assertThat(Arrays.copyOf(y(outputs), 3)).containsOnly(Double.NaN);
        assertThat(y(outputs)[3]).isNaN();
        assertThat(Math.abs(y(outputs)[8])).isLessThan(1e-30);
        assertThat(y(outputs)[11]).isPositive();
      }
    }
  }

  @Test
  void addsTheResidualBeforeOrAfterTheNorm() {
    for (var norm : List.of("layer-norm", "rms-norm")) {
      var alone = Runner.op(norm);
      var op = Runner.op("residual-" + norm);
      var draw = new Draw(new Random(9));
      var x = draw.normal(DType.F32, 3, 40);
      var inputs = inputs(op, x, 1.25, 0.5);
      var residual = draw.normal(DType.F32, 3, 40);
      inputs.put("residual", residual);
      var sum = HostTensor.zeros(x.type());
      for (int i = 0; i < 120; i++) {
        DType.F32.write(sum.data(), i, x.get(i) + residual.get(i));
      }
      var pre = Attributes.of(op.description(), Map.of("order", "pre"));
      var expected = alone.reference(inputs(alone, sum, 1.25, 0.5), epsilon(alone, 1e-5)).get("y");
      for (var outputs : Runner.check(op, inputs, pre, Tolerance.maximum(1e-5))) {
        assertThat(Tolerance.maximum(1e-5).error(y(outputs), Objects.requireNonNull(expected)))
            .isLessThan(1e-5);
        assertThat(Tensors.bytes(Objects.requireNonNull(outputs.get("sum"))))
            .isEqualTo(Tensors.bytes(sum));
      }
      var post = Attributes.of(op.description(), Map.of("order", "post"));
      var normed = alone.reference(inputs(alone, x, 1.25, 0.5), epsilon(alone, 1e-5)).get("y");
      for (var outputs : Runner.check(op, inputs, post, Tolerance.maximum(1e-5))) {
        assertThat(outputs).containsOnlyKeys("y");
        assertThat(y(outputs)[77] - residual.get(77))
            .isCloseTo(Objects.requireNonNull(normed)[77], within(1e-5));
      }
    }
  }

  /** Rows are independent: each gives the same bits alone as in a batch. */
  @ParameterizedTest
  @ValueSource(strings = {"layer-norm", "rms-norm"})
  void batchedEqualsUnbatched(String name) {
    var op = Runner.op(name);
    var x = new Draw(new Random(11)).normal(DType.F16, 2, 3, 100);
    var attributes = epsilon(op, 1e-5);
    for (var plan : Runner.plans(op, inputs(op, x, 1, 0), attributes)) {
      var together = Objects.requireNonNull(Runner.run(plan, inputs(op, x, 1, 0)).get("y"));
      for (int row = 0; row < 6; row++) {
        var type = TensorType.of(DType.F16, 100);
        var inputs = inputs(op, Tensors.slice(x, 100L * row, type), 1, 0);
        var same = sameKernel(Runner.plans(op, inputs, attributes), plan);
        assertThat(Tensors.bytes(Objects.requireNonNull(Runner.run(same, inputs).get("y"))))
            .isEqualTo(Tensors.bytes(Tensors.slice(together, 100L * row, type)));
      }
    }
  }

  private static Plan sameKernel(List<? extends Plan> plans, Plan as) {
    return plans.stream().filter(p -> p.kernel().equals(as.kernel())).findFirst().orElseThrow();
  }

  /** There are more rows than teams in the grid, so that each team sums several in order. */
  @ParameterizedTest
  @CsvSource({
    "layer-norm-backward, 130, 5",
    "rms-norm-backward, 70, 72",
    "layer-norm-backward, 9, 2000"
  })
  void gradientsAreDeterministic(String name, int rows, int n) {
    var op = Runner.op(name);
    var draw = new Draw(new Random(13));
    var inputs =
        Map.of(
            "x", draw.normal(DType.F32, rows, n),
            "grad", draw.normal(DType.F32, rows, n),
            "gamma", draw.normal(DType.F32, n));
    var attributes = epsilon(op, 1e-5);
    var first = Runner.check(op, inputs, attributes, Tolerance.maximum(1e-4));
    var second = Runner.check(op, inputs, attributes, Tolerance.maximum(1e-4));
    for (int i = 0; i < first.size(); i++) {
      for (var output : op.description().outputs()) {
        assertThat(Tensors.bytes(Objects.requireNonNull(second.get(i).get(output.name()))))
            .isEqualTo(Tensors.bytes(Objects.requireNonNull(first.get(i).get(output.name()))));
      }
    }
  }

  /** The gradients of the reference match difference quotients of the norm's reference. */
  @ParameterizedTest
  @ValueSource(strings = {"layer-norm", "rms-norm"})
  void gradientsMatchDifferenceQuotients(String name) {
    var norm = Runner.op(name);
    var op = Runner.op(name + "-backward");
    var draw = new Draw(new Random(17));
    int n = 9;
    var type = TensorType.of(DType.F64, 2, n);
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("x", draw.normal(0, 1, type));
    inputs.put("gamma", draw.normal(0, 1, TensorType.of(DType.F64, n)));
    inputs.put("beta", draw.normal(0, 1, TensorType.of(DType.F64, n)));
    var grad = draw.normal(0, 1, type);
    var gradients =
        op.reference(
            Map.of(
                "grad", grad,
                "x", Objects.requireNonNull(inputs.get("x")),
                "gamma", Objects.requireNonNull(inputs.get("gamma"))),
            epsilon(op, 1e-3));
    double step = 1e-6;
    gradients.forEach((output, values) -> {
      var tensor = Objects.requireNonNull(inputs.get(output.substring(1)));
      for (int i = 0; i < values.length; i++) {
        double value = tensor.get(i);
        DType.F64.write(tensor.data(), i, value + step);
        double above = loss(norm, inputs, grad);
        DType.F64.write(tensor.data(), i, value - step);
        double below = loss(norm, inputs, grad);
        DType.F64.write(tensor.data(), i, value);
        assertThat(values[i])
            .as("%s[%d]", output, i)
            .isCloseTo((above - below) / (2 * step), within(1e-6));
      }
    });
  }

  /** Returns a loss whose gradient with respect to y is {@code grad}. */
  private static double loss(Op norm, Map<String, HostTensor> inputs, HostTensor grad) {
    var y = Objects.requireNonNull(norm.reference(inputs, epsilon(norm, 1e-3)).get("y"));
    double loss = 0;
    for (int i = 0; i < y.length; i++) {
      loss += y[i] * grad.get(i);
    }
    return loss;
  }
}
