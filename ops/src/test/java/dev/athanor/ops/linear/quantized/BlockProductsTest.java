package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Blocks;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.testing.TestTier;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products with block-quantized weights, compared with the scalar decoders. */
@Tag(TestTier.THOROUGH_TAG)
class BlockProductsTest {

  private static final MatmulGguf GGUF = new MatmulGguf();

  private static double[] exact(Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var given = Attributes.of(op.description(), attributes);
    return Objects.requireNonNull(op.reference(inputs, given).get("c"));
  }

  /** In f32, the only errors are roundings of the sum, although its terms may cancel. */
  @ParameterizedTest
  @CsvSource({
    "Q4_0, 1e-6",
    "Q4_1, 1e-6",
    "Q5_0, 1e-6",
    "Q8_0, 1e-6",
    "Q4_K, 1e-6",
    "Q5_K, 2e-7",
    "Q6_K, 1e-6",
    "IQ4_NL, 1e-6",
    "IQ4_XS, 1e-6",
    "MXFP4, 1e-6"
  })
  void f32GemvsAreAccurate(DType format, double limit) {
    var draw = new Draw(new Random(21));
    var inputs =
        Map.of(
            "a", draw.normal(DType.F32, 1, 512), "w", draw.blocks(TensorType.of(format, 7, 512)));
    var exact = exact(GGUF, inputs, Map.of());
    var results = Runner.all(GGUF, inputs, Map.of(), "c");
    assertThat(results.keySet()).anyMatch(kernel -> kernel.startsWith("gemv"));
    results.forEach((kernel, c) -> {
      if (kernel.startsWith("gemv")) {
        assertThat(Tolerance.relative(limit).error(c, exact)).as(kernel).isLessThanOrEqualTo(limit);
      }
    });
  }

  /** No kernel rounds f32 to the 11 bits of tf32, for any shape. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 17, 40})
  void noKernelRoundsF32ToTf32(int m) {
    // 1e5 has 17 bits
    int k = 32;
    var w = HostTensor.zeros(TensorType.of(DType.Q8_0, 8, k));
    for (int n = 0; n < 8; n++) {
      DType.F16.write(w.data().asSlice(34L * n), 0, 1000);
      w.data().set(ValueLayout.JAVA_BYTE, 34L * n + 2, (byte) 100);
    }
    var a = HostTensor.zeros(TensorType.of(DType.F32, m, k));
    for (int row = 0; row < m; row++) {
      DType.F32.write(a.data(), (long) row * k, row == 0 ? 2 : 1 + 0x1p-20);
    }
    var inputs = Map.of("a", a, "w", w);
    var results = Runner.all(GGUF, inputs, Map.of(), "c");
    assertThat(results.keySet()).anyMatch(kernel -> kernel.startsWith("mma"));
    results.forEach((kernel, c) -> {
      for (int i = 0; i < c.length; i++) {
        double expected = i < 8 ? 200_000 : 1e5 * (1 + 0x1p-20);
        assertThat(c[i]).as(kernel).isCloseTo(expected, Offset.offset(0.01));
      }
    });
  }

  /**
   * Infinities behave as in multiply-adds: infinity times a number is infinite, times 0 it is NaN.
   */
  @Test
  void f32InfinitiesPropagate() {
    var draw = new Draw(new Random(25));
    int k = 32;
    var w = draw.blocks(TensorType.of(DType.Q8_0, 9, k));
    for (int n = 0; n < 9; n++) {
      w.data().set(ValueLayout.JAVA_BYTE, 34L * n + 2, (byte) (n == 0 ? 0 : n % 2 == 0 ? 3 : -3));
    }
    double[] first = {Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 1e36, 1e-42};
    var a = HostTensor.zeros(TensorType.of(DType.F32, first.length, k));
    for (int row = 0; row < first.length; row++) {
      DType.F32.write(a.data(), (long) row * k, first[row]);
    }
    var inputs = Map.of("a", a, "w", w);
    Runner.all(GGUF, inputs, Map.of(), "c")
        .forEach((kernel, c) -> {
          for (int i = 0; i < c.length; i++) {
            double expected = (float) (first[i / 9] * w.get((long) (i % 9) * k));
            assertThat(
                    c[i] == expected
                        || (Double.isNaN(expected) && Double.isNaN(c[i]))
                        || Math.abs(c[i] - expected)
                            <= 0x1p-20 * Math.abs(expected) + 0x1p-136 * 127)
                .as("%s of %s: %s, not %s", kernel, i, c[i], expected)
                .isTrue();
          }
        });
  }

  /** The sums of every kernel are as accurate as in f32. */
  @ParameterizedTest
  @EnumSource(names = {"Q4_K", "Q5_0", "Q6_K", "Q8_0", "IQ4_XS", "MXFP4"})
  void f32ProductsAreAccurate(DType format) {
    var draw = new Draw(new Random(26));
    var inputs =
        Map.of(
            "a", draw.normal(DType.F32, 17, 512), "w", draw.blocks(TensorType.of(format, 9, 512)));
    var exact = exact(GGUF, inputs, Map.of());
    // tensor cores truncate their sums; rounding the operands to tf32 would cause errors of 3e-4
    Runner.all(GGUF, inputs, Map.of(), "c")
        .forEach((kernel, c) ->
            assertThat(Tolerance.relative(1e-5).error(c, exact))
                .as(kernel)
                .isLessThanOrEqualTo(1e-5));
  }

  /** The argmax of the logits is that of the exact product. */
  @ParameterizedTest
  @EnumSource(
      names = {"Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"})
  void logitsOfBlocksHaveTheExactArgmax(DType format) {
    var draw = new Draw(new Random(22));
    var inputs =
        Map.of(
            "a", draw.normal(DType.F16, 1, 512), "w", draw.blocks(TensorType.of(format, 200, 512)));
    assertSameDirectionAndArgmax(GGUF, inputs, Map.of());
  }

  @ParameterizedTest
  @ValueSource(strings = {"k-packed", "gptq", "awq"})
  void logitsOfPackedWeightsHaveTheExactArgmax(String layout) {
    var draw = new Draw(new Random(23));
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("a", draw.normal(DType.F16, 1, 512));
    inputs.put(
        "packed",
        draw.bytes(
            switch (layout) {
              case "k-packed" -> TensorType.of(DType.U32, 200, 64);
              case "gptq" -> TensorType.of(DType.U32, 64, 200);
              default -> TensorType.of(DType.U32, 512, 25);
            }));
    inputs.put("scales", draw.uniform(0.01, 0.02, TensorType.of(DType.F16, 4, 200)));
    assertSameDirectionAndArgmax(new MatmulInt4(), inputs, Map.of("layout", layout));
  }

  private static void assertSameDirectionAndArgmax(
      Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var exact = exact(op, inputs, attributes);
    var c = Runner.run(op, inputs, attributes, "c").toDoubles();
    assertThat(Tensors.cosine(c, exact)).isGreaterThan(0.9999);
    assertThat(Tensors.greatest(c)).isEqualTo(Tensors.greatest(exact));
  }

  /**
   * Numbers encoded as the nearest entry and decoded by the kernel are within 0.16 of the scale.
   */
  @Test
  void nf4RoundTripIsAccurate() {
    int n = 64;
    var x = new Draw(new Random(24)).normal(DType.F32, n);
    double scale = IntStream.range(0, n).mapToDouble(i -> Math.abs(x.get(i))).max().orElseThrow();
    var block = HostTensor.zeros(TensorType.of(DType.NF4, n));
    DType.F32.write(block.data(), 0, scale);
    for (int i = 0; i < n; i++) {
      double value = x.get(i) / scale;
      int nearest =
          IntStream.range(0, 16)
              .reduce((a, b) ->
                  Math.abs(Blocks.nf4(b) - value) < Math.abs(Blocks.nf4(a) - value) ? b : a)
              .orElseThrow();
      long at = 4L + i / 2;
      long other = DType.U8.readLong(block.data(), at);
      DType.U8.writeLong(block.data(), at, other | ((long) nearest << (4 * (1 - i % 2))));
    }
    Runner.all(new Dequantize(), Map.of("x", block), Map.of(), "y")
        .forEach((kernel, y) -> {
          for (int i = 0; i < n; i++) {
            assertThat(Math.abs(y[i] - x.get(i))).as(kernel).isLessThan(0.16 * scale);
          }
        });
  }
}
