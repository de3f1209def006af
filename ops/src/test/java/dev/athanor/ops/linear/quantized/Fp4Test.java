package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Known products with E2M1 weights, for every kernel. */
@Tag(TestTier.THOROUGH_TAG)
class Fp4Test {

  /** The numbers of E2M1 in the OCP Microscaling Formats Specification 1.0. */
  private static final double[] E2M1 = {
    0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6
  };

  private static HostTensor bytes(DType dtype, int rows, int columns, IntUnaryOperator byteOf) {
    var tensor = HostTensor.zeros(TensorType.of(dtype, rows, columns));
    for (int i = 0; i < rows * columns; i++) {
      DType.U8.writeLong(tensor.data(), i, byteOf.applyAsInt(i));
    }
    return tensor;
  }

  /** With an identity matrix as a, row k of c is row k of the weights. */
  @ParameterizedTest
  @CsvSource({
    "f16, e4m3, 64",
    "bf16, e4m3, 64",
    "f32, e4m3, 64",
    "f16, e4m3, 48",
    "bf16, e4m3, 48",
    "f16, u8, 64",
    "bf16, u8, 64",
    "f32, u8, 64"
  })
  void multipliesNumbersByTheScaleOfTheirGroup(String in, String scale, int k) {
    int n = 13;
    boolean nvfp4 = scale.equals("e4m3");
    int group = nvfp4 ? 16 : 32;
    int groups = k / group;
    // exponents of powers of two from 1/4 to 8, different for neighbors
    IntUnaryOperator exponent = i -> i / groups % 3 + i % groups - 2;
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("a", Tensors.identity(DType.of(in).orElseThrow(), k));
    // weight (n, k) is number (n + k) % 16; the first of a byte is in the low nibble
    IntUnaryOperator number = i -> (i / k + i % k) % 16;
    inputs.put(
        "weights",
        bytes(
            DType.U8,
            n,
            k / 2,
            i -> number.applyAsInt(2 * i) | (number.applyAsInt(2 * i + 1) << 4)));
    inputs.put(
        "scales",
        bytes(
            nvfp4 ? DType.E4M3 : DType.U8,
            n,
            groups,
            // e4m3: 1.5 · 2^exponent, with a bias of 7
            i -> nvfp4 ? ((exponent.applyAsInt(i) + 7) << 3) | 4 : exponent.applyAsInt(i) + 127));
    inputs.put("scale", Tensors.filled(TensorType.of(DType.F32), 0.25));
    for (var c : Runner.all(new MatmulFp4(), inputs, Map.of("outDtype", "f32"), "c").entrySet()) {
      for (int i = 0; i < k * n; i++) {
        int row = i / n;
        int column = i % n;
        double factor =
            Math.scalb(nvfp4 ? 1.5 : 1, exponent.applyAsInt(column * groups + row / group));
        assertThat(c.getValue()[i])
            .as("%s, row %d, column %d", c.getKey(), row, column)
            .isEqualTo(E2M1[(column + row) % 16] * factor / 4);
      }
    }
  }

  /** Every scale, among them subnormal numbers and NaN. */
  @ParameterizedTest
  @ValueSource(strings = {"e4m3", "u8"})
  void decodesEveryScale(String scale) {
    boolean nvfp4 = scale.equals("e4m3");
    int group = nvfp4 ? 16 : 32;
    var inputs =
        Map.of(
            // 1 and -0.5
            "x", bytes(DType.U8, 256, group / 2, _ -> 0x92),
            "scale", bytes(nvfp4 ? DType.E4M3 : DType.U8, 256, 1, i -> i));
    for (var y : Runner.all(new Dequantize(), inputs, Map.of(), "y").values()) {
      for (int i = 0; i < y.length; i++) {
        double one = nvfp4 ? e4m3(i / group) : e8m0(i / group);
        assertThat(y[i]).isEqualTo(Double.valueOf(i % 2 == 0 ? one : -one / 2));
      }
    }
  }

  private static double e4m3(int bits) {
    int exponent = (bits >> 3) & 15;
    double fraction = (bits & 7) / 8.0;
    double magnitude =
        (bits & 0x7F) == 0x7F
            ? Double.NaN
            : exponent == 0 ? fraction / 64 : Math.scalb(1 + fraction, exponent - 7);
    return bits < 128 ? magnitude : -magnitude;
  }

  private static double e8m0(int bits) {
    return bits == 255 ? Double.NaN : Math.scalb(1.0, bits - 127);
  }

  /** Weights that are not rows of whole parts are decoded first. */
  @Test
  void decodesRowsThatAreNotAlignedFirst() {
    var types =
        Map.of(
            "a", TensorType.of(DType.F16, 1, 48),
            "weights", TensorType.of(DType.U8, 16, 24),
            "scales", TensorType.of(DType.E4M3, 16, 3));
    var op = new MatmulFp4();
    assertThat(op.plans(types, Attributes.of(op.description(), Map.of()), TestDevices.H200))
        .allMatch(plan -> plan.kernel().startsWith("decoded_fp4_e4m3_"));
  }

  @Test
  void refusesScalesOfTheOtherFormat() {
    var op = new Dequantize();
    var types =
        Map.of("x", TensorType.of(DType.U8, 3, 32), "scale", TensorType.of(DType.E4M3, 3, 2));
    assertThatThrownBy(() -> op.outputs(types, Attributes.of(op.description(), Map.of())))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage(
            "scale [3, 2] with e4m3 has K = 32 but x [3, 32] with u8 has K = 64; they must be equal");
  }
}
