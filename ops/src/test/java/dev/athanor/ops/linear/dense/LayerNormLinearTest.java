package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LayerNormLinearTest {

  private static final LayerNormLinear OP = new LayerNormLinear();

  /** A constant row is normalized to beta, however large the constant is. */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"F32", "F16", "BF16"})
  void constantRowsBecomeBeta(DType dtype) {
    int k = 64;
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("x", Tensors.filled(TensorType.of(dtype, 3, k), 1024));
    inputs.put("gamma", Tensors.filled(TensorType.of(dtype, k), 3));
    inputs.put("beta", Tensors.filled(TensorType.of(dtype, k), 0.5));
    inputs.put("w", Tensors.filled(TensorType.of(dtype, 5, k), 2));
    inputs.put("bias", Tensors.filled(TensorType.of(dtype, 5), -1));
    for (var y : Runner.all(OP, inputs, Map.of(), "y").entrySet()) {
      assertThat(y.getValue()).as(y.getKey()).hasSize(15).containsOnly(63);
    }
  }

  /** Adding a constant to a row or scaling it does not change the result, as far as x is exact. */
  @Test
  void normalizesRows() {
    var draw = new Draw(new Random(7));
    var x = draw.integers(-8, 8, TensorType.of(DType.F32, 4, 40));
    var moved = HostTensor.zeros(x.type());
    for (int i = 0; i < 160; i++) {
      DType.F32.write(moved.data(), i, 4 * x.get(i) + 16);
    }
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("gamma", draw.normal(DType.F32, 40));
    inputs.put("beta", draw.normal(DType.F32, 40));
    inputs.put("w", draw.normal(DType.F32, 7, 40));
    inputs.put("x", x);
    var one = Runner.all(OP, inputs, Map.of("epsilon", 0), "y").values().iterator().next();
    inputs.put("x", moved);
    var other = Runner.all(OP, inputs, Map.of("epsilon", 0), "y").values().iterator().next();
    for (int i = 0; i < one.length; i++) {
      assertThat(Math.abs(one[i] - other[i])).isLessThan(1e-5);
    }
  }

  @Test
  void keepsLeadingDimensions() {
    var types =
        Map.of(
            "x", TensorType.of(DType.F16, 2, 3, 8),
            "gamma", TensorType.of(DType.F16, 8),
            "beta", TensorType.of(DType.F16, 8),
            "w", TensorType.of(DType.F16, 5, 8));
    var plan = OP.plan(types, Attributes.of(OP.description(), Map.of()), TestDevices.H200);
    assertThat(plan.outputs()).containsEntry("y", TensorType.of(DType.F16, 2, 3, 5));
    assertThat(plan.kernels()).hasSize(1);
  }

  @Test
  void rejectsInconsistentInputs() {
    assertRejected(
        "w",
        TensorType.of(DType.F16, 5, 9),
        OpException.ShapeMismatch.class,
        "w [5, 9] has K = 9 but x [2, 8] has K = 8; they must be equal");
    assertRejected(
        "gamma",
        TensorType.of(DType.F16, 7),
        OpException.ShapeMismatch.class,
        "gamma [7] has K = 7 but x [2, 8] has K = 8; they must be equal");
    assertRejected(
        "bias",
        TensorType.of(DType.F16, 8),
        OpException.ShapeMismatch.class,
        "bias [8] has N = 8 but w [5, 8] has N = 5; they must be equal");
    assertRejected(
        "beta",
        TensorType.of(DType.F32, 8),
        OpException.UnsupportedDType.class,
        "beta is f32 but gamma is f16; they must be the same");
    assertRejected(
        "bias",
        TensorType.of(DType.BF16, 5),
        OpException.UnsupportedDType.class,
        "bias is bf16 but x is f16; it must be that or f32");
    assertRejected(
        "x",
        TensorType.of(DType.F16),
        OpException.ShapeMismatch.class,
        "input \"x\" has shape []; it must be […, K]");
  }

  private static void assertRejected(
      String name, TensorType type, Class<? extends OpException> kind, String message) {
    var types = new HashMap<String, TensorType>();
    types.put("x", TensorType.of(DType.F16, 2, 8));
    types.put("gamma", TensorType.of(DType.F16, 8));
    types.put("beta", TensorType.of(DType.F16, 8));
    types.put("w", TensorType.of(DType.F16, 5, 8));
    types.put(name, type);
    var attributes = Attributes.of(OP.description(), Map.of());
    assertThatThrownBy(() -> OP.plans(types, attributes, TestDevices.H200))
        .isInstanceOf(kind)
        .hasMessage(message);
  }
}
