package dev.athanor.ops.map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Error messages of elementwise ops, moves and reductions. */
class RefusalsTest {

  private static TensorType f32(long... extents) {
    return TensorType.of(DType.F32, extents);
  }

  private static void assertRejected(
      String op,
      Map<String, TensorType> inputs,
      Map<String, ?> attributes,
      Class<? extends OpException> kind,
      String message) {
    assertThatThrownBy(() -> Runner.plans(Runner.op(op), inputs, attributes))
        .isInstanceOf(kind)
        .hasMessage(message);
  }

  @Test
  void rejectsInconsistentShapes() {
    assertRejected(
        "add",
        Map.of("a", f32(2, 3), "b", f32(4)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "a [2, 3] and b [4] cannot be broadcast: counted from the last, each pair of"
            + " extents must be equal or contain a 1");
    assertRejected(
        "swiglu",
        Map.of("gate", f32(2, 3), "up", f32(3)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "up has shape [3] but gate has [2, 3]; they must be the same");
    assertRejected(
        "bias-activation",
        Map.of("x", f32(2, 3), "bias", f32(2)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "bias [2] has N = 2 but x [2, 3] has N = 3; they must be equal");
    assertRejected(
        "gather",
        Map.of("table", f32(2, 3, 4), "index", TensorType.of(DType.I32, 5)),
        Map.of("axis", 3),
        OpException.InvalidAttribute.class,
        "attribute \"axis\" is 3 but table has shape [2, 3, 4]; its dimensions are -3 to 2");
  }

  @Test
  void rejectsFactorsBeyondTheRangeOfTheirDtype() {
    assertRejected(
        "scale",
        Map.of("x", f32(3)),
        Map.of("factor", 1e39),
        OpException.InvalidAttribute.class,
        "attribute \"factor\" must be in the range of f32, got 1.0E39");
    assertRejected(
        "matmul",
        Map.of("a", f32(2, 3), "b", f32(3, 2)),
        Map.of("alpha", -1e39),
        OpException.InvalidAttribute.class,
        "attribute \"alpha\" must be in the range of f32, got -1.0E39");
    var doubles = Map.of("x", TensorType.of(DType.F64, 3));
    assertThat(Runner.plans(Runner.op("scale"), doubles, Map.of("factor", 1e39))).isNotEmpty();
  }

  @Test
  void rejectsDifferentDtypes() {
    assertRejected(
        "mul",
        Map.of("a", f32(3), "b", TensorType.of(DType.F16, 3)),
        Map.of(),
        OpException.UnsupportedDType.class,
        "b is f16 but a is f32; they must be the same");
  }

  @Test
  void rejectsUnknownDimensions() {
    assertRejected(
        "reduce",
        Map.of("x", f32(2, 3)),
        Map.of("axis", 2),
        OpException.InvalidAttribute.class,
        "attribute \"axis\" is 2 but x has shape [2, 3]; its dimensions are -2 to 1");
    assertRejected(
        "argmax",
        Map.of("x", f32()),
        Map.of(),
        OpException.InvalidAttribute.class,
        "attribute \"axis\" is -1 but x is a scalar, which has no dimensions");
    assertRejected(
        "transpose",
        Map.of("x", f32(5)),
        Map.of(),
        OpException.InvalidAttribute.class,
        "attribute \"axisA\" is -2 but x has shape [5]; its dimensions are -1 to 0");
  }

  @Test
  void rejectsInvalidAttributes() {
    assertRejected(
        "cast",
        Map.of("x", f32(3)),
        Map.of(),
        OpException.InvalidAttribute.class,
        "attribute \"to\" is missing; cast requires it: dtype of y");
    assertRejected(
        "cast",
        Map.of("x", f32(3)),
        Map.of("to", "q4_0"),
        OpException.InvalidAttribute.class,
        "attribute \"to\" must be one of f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u8,"
            + " u32, bool, got \"q4_0\"");
    assertRejected(
        "cast",
        Map.of("x", f32(3)),
        Map.of("to", "i8", "saturate", false),
        OpException.InvalidAttribute.class,
        "attribute \"saturate\" is false, but a cast to i8 always saturates; omit it");
    assertRejected(
        "gelu",
        Map.of("x", f32(3)),
        Map.of("form", "exact"),
        OpException.InvalidAttribute.class,
        "attribute \"form\" must be one of erf, tanh, sigmoid, got \"exact\"");
    assertRejected(
        "reduce",
        Map.of("x", f32(3)),
        Map.of("kind", "product"),
        OpException.InvalidAttribute.class,
        "attribute \"kind\" must be one of sum, mean, max, min, prod, any, all, l1, l2, sum-square, log-sum, log-sum-exp, variance, std, got \"product\"");
  }

  @Test
  void rejectsTensorsThatAreTooLarge() {
    assertRejected(
        "add",
        Map.of("a", f32(1L << 31, 1), "b", f32(1L << 31)),
        Map.of(),
        OpException.TooLarge.class,
        "output \"y\" would be f32[2147483648, 2147483648]; the maximum is 2^63 - 1 bytes");
    assertRejected(
        "reduce",
        Map.of("x", f32(1L << 31)),
        Map.of(),
        OpException.TooLarge.class,
        "input \"x\" has shape [2147483648]; the kernel uses 32-bit indices, and"
            + " 2147483648 exceeds the maximum of 2^31 - 1025");
    assertRejected(
        "transpose",
        Map.of("x", f32(8, 1L << 31)),
        Map.of(),
        OpException.TooLarge.class,
        "input \"x\" has shape [8, 2147483648]; the kernel uses 32-bit indices, and"
            + " 2147483648 exceeds the maximum of 2^31 - 1025");
  }

  @Test
  void rejectsOldDevices() {
    var op = Runner.op("relu");
    assertThatThrownBy(() ->
            op.plans(
                Map.of("x", f32(3)),
                Attributes.of(op.description(), Map.of()),
                TestDevices.of(Target.of("sm_61"), 40, 65_536)))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessage(
            "test device (sm_61) cannot compute this relu of f32: requires sm_70; the device"
                + " is sm_61");
  }
}
