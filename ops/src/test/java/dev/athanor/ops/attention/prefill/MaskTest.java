package dev.athanor.ops.attention.prefill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.attention.AttentionProblem;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The mask input of attention. */
class MaskTest {

  private static final Attention ATTENTION = new Attention();
  private static final int SQ = 20;
  private static final int SK = 70;
  private static final int D = 16;

  private static Map<String, HostTensor> inputs(DType dtype) {
    var draw = new Draw(new Random(7));
    return new HashMap<>(
        Map.of(
            "q", draw.normal(dtype, SQ, D),
            "k", draw.normal(dtype, SK, D),
            "v", draw.normal(dtype, SK, D)));
  }

  private interface Element {
    double of(int query, int key);
  }

  private static HostTensor mask(DType dtype, Element element) {
    var mask = HostTensor.zeros(TensorType.of(dtype, SQ, SK));
    for (int i = 0; i < SQ * SK; i++) {
      dtype.write(mask.data(), i, element.of(i / SK, i % SK));
    }
    return mask;
  }

  /** A triangular mask equals causal attention, and hidden NaNs have no influence. */
  @ParameterizedTest
  @CsvSource({"F32, BOOL", "F16, BOOL", "F32, F32", "F16, F16", "BF16, F32"})
  void triangularMasksEqualCausal(DType dtype, DType ofMask) {
    var inputs = inputs(dtype);
    var causal = Map.of("causal", true, "withLse", true);
    var expected = Runner.run(ATTENTION, inputs, causal);
    double hidden = ofMask == DType.BOOL ? 0 : Double.NEGATIVE_INFINITY;
    double seen = ofMask == DType.BOOL ? 1 : 0;
    inputs.put("mask", mask(ofMask, (i, j) -> j <= i + SK - SQ ? seen : hidden));
    for (var name : List.of("k", "v")) {
      var tensor = Tensors.copy(Tensors.get(inputs, name));
      for (int c = 0; c < D; c++) {
        dtype.write(tensor.data(), (SK - 1L) * D + c, Double.NaN);
      }
      inputs.put(name, tensor);
    }
    Runner.all(ATTENTION, inputs, Map.of("withLse", true))
        .forEach((kernel, outputs) -> {
          for (int row = 0; row < SQ - 1; row++) {
            assertThat(Tensors.get(outputs, "lse").get(row))
                .as(kernel)
                .isCloseTo(Tensors.get(expected, "lse").get(row), within(1e-5));
            assertThat(Tensors.get(outputs, "out").get((long) row * D))
                .as(kernel)
                .isCloseTo(
                    Tensors.get(expected, "out").get((long) row * D),
                    within(AttentionProblem.tolerance(dtype).limit()));
          }
          assertThat(Tensors.get(outputs, "out").get((SQ - 1L) * D)).as(kernel).isNaN();
        });
  }

  @ParameterizedTest
  @CsvSource({"F32, BOOL", "F32, F32", "F16, BOOL", "BF16, BF16"})
  void queriesWhoseKeysAreHiddenYieldZeros(DType dtype, DType ofMask) {
    var inputs = inputs(dtype);
    inputs.put(
        "mask",
        mask(
            ofMask,
            (i, j) -> ofMask == DType.BOOL ? i % 2 : i % 2 == 0 ? Double.NEGATIVE_INFINITY : 0));
    Runner.all(ATTENTION, inputs, Map.of("withLse", true))
        .forEach((kernel, outputs) -> {
          for (int row = 0; row < SQ; row += 2) {
            assertThat(Tensors.get(outputs, "lse").get(row))
                .as(kernel)
                .isEqualTo(Double.NEGATIVE_INFINITY);
            assertThat(Tensors.get(outputs, "out").get((long) row * D)).as(kernel).isZero();
            assertThat(Tensors.get(outputs, "lse").get(row + 1L)).as(kernel).isFinite();
          }
        });
  }

  /** With the least finite bias for all keys, a query gets the mean of their values. */
  @ParameterizedTest
  @CsvSource({"F32, 0", "F32, 2", "BF16, 0"})
  void leastFiniteBiasesDoNotHideKeys(DType dtype, double softcap) {
    var inputs = inputs(dtype);
    inputs.put("mask", mask(dtype, (i, j) -> -dtype.greatest()));
    double mean = 0;
    for (int key = 0; key < SK; key++) {
      mean += Tensors.get(inputs, "v").get((long) key * D) / SK;
    }
    double expected = mean;
    Runner.all(ATTENTION, inputs, Map.of("softcap", softcap), "out")
        .forEach((kernel, out) -> assertThat(out[0]).as(kernel).isCloseTo(expected, within(1e-2)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "2, 4, 5, 7 | input \"mask\" has shape [2, 4, 5, 7]; it must broadcast to the scores [2, 4, 6, 7]: each extent but the last may be 1",
        "1, 2, 4, 6, 7 | input \"mask\" has shape [1, 2, 4, 6, 7]; it must broadcast to the scores [2, 4, 6, 7]: each extent but the last may be 1",
        "2, 6, 7 | input \"mask\" has shape [2, 6, 7]; it must broadcast to the scores [2, 4, 6, 7]: each extent but the last may be 1",
        "6, 1 | mask [6, 1] has Sk = 1 but k [2, 2, 7, 8] has Sk = 7; they must be equal",
      })
  void rejectsShapesThatDoNotBroadcast(String shape, String message) {
    long[] extents = List.of(shape.split(", ")).stream().mapToLong(Long::parseLong).toArray();
    assertRejected(TensorType.of(DType.BOOL, extents), message);
  }

  @Test
  void rejectsOtherDtypes() {
    assertRejected(
        TensorType.of(DType.BF16, 6, 7),
        "mask is bf16 but q is f16; it must be that or f32 or bool");
  }

  private static void assertRejected(TensorType mask, String message) {
    var types =
        Map.of(
            "q", TensorType.of(DType.F16, 2, 4, 6, 8),
            "k", TensorType.of(DType.F16, 2, 2, 7, 8),
            "v", TensorType.of(DType.F16, 2, 2, 7, 8),
            "mask", mask);
    var none = Attributes.of(ATTENTION.description(), Map.of());
    assertThatThrownBy(() -> ATTENTION.plans(types, none, TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }
}
