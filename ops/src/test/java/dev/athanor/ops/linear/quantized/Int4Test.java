package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Known products with 4-bit weights, for every kernel. */
@Tag(TestTier.THOROUGH_TAG)
class Int4Test {

  private static final MatmulInt4 OP = new MatmulInt4();
  private static final int[] AWQ_ORDER = {0, 2, 4, 6, 1, 3, 5, 7};

  private static Map<String, HostTensor> ones(int m, int n, int k, long word, double... scales) {
    return ones(DType.F16, m, n, k, word, scales);
  }

  private static Map<String, HostTensor> ones(
      DType in, int m, int n, int k, long word, double... scales) {
    return Map.of(
        "a", Tensors.filled(TensorType.of(in, m, k), 1),
        "packed", Tensors.filled(TensorType.of(DType.U32, n, k / 8), (double) word),
        "scales",
            HostTensor.of(
                TensorType.of(DType.F16, scales.length, n),
                Arrays.stream(scales).flatMap(s -> Arrays.stream(filled(n, s))).toArray()));
  }

  private static double[] filled(int n, double value) {
    var values = new double[n];
    Arrays.fill(values, value);
    return values;
  }

  @ParameterizedTest
  @CsvSource({"0x11111111, 128", "0x88888888, -1024", "0x77777777, 896", "0xFFFFFFFF, -128"})
  void sumsEqualWeights(String word, double sum) {
    for (var in : List.of(DType.F16, DType.BF16)) {
      var inputs = ones(in, 16, 8, 128, Long.decode(word), 1);
      for (var c : Runner.all(OP, inputs, Map.of(), "c").entrySet()) {
        assertThat(c.getValue()).as(c.getKey()).containsOnly(sum);
      }
    }
  }

  @Test
  void appliesTheScaleOfEachGroup() {
    for (var in : List.of(DType.F16, DType.BF16)) {
      var inputs = ones(in, 17, 13, 256, 0x11111111, 1, 2);
      for (var c : Runner.all(OP, inputs, Map.of(), "c").entrySet()) {
        assertThat(c.getValue()).as(c.getKey()).containsOnly(384);
      }
    }
  }

  /**
   * A group of 32 is half a stage of the tensor-core kernels; the last stage has only one group.
   */
  @Test
  void appliesTheScaleOfEachHalfStage() {
    var inputs = ones(DType.BF16, 17, 24, 160, 0x11111111, 1, 2, 4, 8, 16);
    var results = Runner.all(OP, inputs, Map.of("groupSize", 32), "c");
    assertThat(results.keySet()).anyMatch(kernel -> kernel.contains("_g32_"));
    for (var c : results.entrySet()) {
      assertThat(c.getValue()).as(c.getKey()).containsOnly(32 * 31);
    }
  }

  /** The last part of K is shorter, and the results do not depend on the order of blocks. */
  @Test
  void splitSumsAreBitIdentical() {
    var draw = new Draw(new Random(11));
    int k = 1048;
    var inputs = new HashMap<>(ones(17, 24, k, 0x11111111, 1));
    inputs.put("a", draw.normal(DType.F16, 17, k));
    var given = Attributes.of(OP.description(), Map.of("groupSize", -1, "outDtype", "f32"));
    int split = 0;
    for (var plan : OP.plans(HostTensor.types(inputs), given, TestDevices.H200)) {
      if (plan.kernel().startsWith("mma") && plan.kernel().contains("split")) {
        split++;
        assertThat(plan.kernels()).hasSize(2);
        var first = Runner.run(plan, inputs, "c").data();
        assertThat(Runner.run(plan, inputs, "c").data().mismatch(first)).isEqualTo(-1);
      }
    }
    assertThat(split).isPositive();
  }

  /** With an identity matrix as a, row k of c is row k of the weights. */
  @ParameterizedTest
  @ValueSource(strings = {"k-packed", "gptq"})
  void unpacksNibblesAlongK(String layout) {
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("a", Tensors.identity(DType.F16, 8));
    boolean signed = layout.equals("k-packed");
    inputs.put(
        "packed",
        Tensors.filled(
            signed ? TensorType.of(DType.U32, 13, 1) : TensorType.of(DType.U32, 1, 13),
            0x87654321L));
    inputs.put("scales", Tensors.filled(TensorType.of(DType.F16, 1, 13), 0.5));
    for (var c : Runner.all(OP, inputs, Map.of("layout", layout), "c").entrySet()) {
      for (int i = 0; i < c.getValue().length; i++) {
        int nibble = i / 13 + 1;
        double expected = signed ? nibble < 8 ? nibble : -8 : nibble - 8;
        assertThat(c.getValue()[i]).as(c.getKey()).isEqualTo(expected / 2);
      }
    }
  }

  /** With act-order of GPTQ, {@code g_idx} names the group of each row; others yield zeros. */
  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F32"})
  void appliesTheScaleOfTheNamedGroup(DType scale) {
    int[] groups = {1, 0, 2, -1, 3, 2, Integer.MAX_VALUE, Integer.MIN_VALUE};
    int k = 48;
    int n = 16;
    var indices = new double[k];
    Arrays.setAll(indices, row -> groups[row % groups.length]);
    var scales = new double[3 * n];
    Arrays.setAll(scales, i -> 1 << (i / n));
    var zeros = new double[3 * 2];
    Arrays.setAll(zeros, i -> new int[] {0x00000000, 0x22222222, 0x33333333}[i / 2]);
    var inputs =
        Map.of(
            "a", Tensors.identity(DType.F16, k),
            "packed", Tensors.filled(TensorType.of(DType.U32, k / 8, n), 0x99999999L),
            "scales", HostTensor.of(TensorType.of(scale, 3, n), scales),
            "zeros", HostTensor.of(TensorType.of(DType.U32, 3, n / 8), zeros),
            "groupIndices", HostTensor.of(TensorType.of(DType.I32, k), indices));
    var given = Map.of("layout", "gptq", "groupSize", 16, "zeroFormat", "plain");
    double[] expected = {9, 14, 24};
    for (var c : Runner.all(OP, inputs, given, "c").entrySet()) {
      for (int i = 0; i < c.getValue().length; i++) {
        int group = groups[i / n % groups.length];
        assertThat(c.getValue()[i])
            .as(c.getKey())
            .isEqualTo(group < 0 || group > 2 ? 0 : expected[group]);
      }
    }
  }

  /** Packs random weights and zero points as AutoGPTQ and AutoAWQ do, one nibble at a time. */
  @ParameterizedTest
  @CsvSource({
    "f16, gptq, less-one",
    "f16, gptq, plain",
    "f16, awq, plain",
    "f16, awq, less-one",
    "bf16, gptq, less-one",
    "bf16, gptq, plain",
    "bf16, awq, plain",
    "bf16, awq, less-one"
  })
  void unpacksTheLayoutsOfGptqAndAwq(String in, String layout, String zeroFormat) {
    int k = 64;
    int n = 24;
    var random = new Random(layout.hashCode() + zeroFormat.length());
    var weights = new int[k][n];
    var zeros = new int[2][n];
    for (var row : weights) {
      Arrays.setAll(row, _ -> random.nextInt(16));
    }
    for (var row : zeros) {
      Arrays.setAll(row, _ -> 1 + random.nextInt(15));
    }
    boolean awq = layout.equals("awq");
    var packed = new double[k * n / 8];
    for (int row = 0; row < k; row++) {
      for (int column = 0; column < n; column++) {
        if (awq) {
          int from = column / 8 * 8 + AWQ_ORDER[column % 8];
          packed[row * (n / 8) + column / 8] +=
              Math.scalb((double) weights[row][from], 4 * (column % 8));
        } else {
          packed[row / 8 * n + column] += Math.scalb((double) weights[row][column], 4 * (row % 8));
        }
      }
    }
    var packedZeros = new double[2 * n / 8];
    for (int group = 0; group < 2; group++) {
      for (int column = 0; column < n; column++) {
        int from = awq ? column / 8 * 8 + AWQ_ORDER[column % 8] : column;
        int stored = zeros[group][from] - (zeroFormat.equals("less-one") ? 1 : 0);
        packedZeros[group * (n / 8) + column / 8] += Math.scalb((double) stored, 4 * (column % 8));
      }
    }
    var scales = new Draw(random).uniform(0.5, 2, TensorType.of(DType.F16, 2, n));
    var inputs =
        Map.of(
            "a", Tensors.identity(DType.of(in).orElseThrow(), k),
            "packed",
                HostTensor.of(
                    awq ? TensorType.of(DType.U32, k, n / 8) : TensorType.of(DType.U32, k / 8, n),
                    packed),
            "scales", scales,
            "zeros", HostTensor.of(TensorType.of(DType.U32, 2, n / 8), packedZeros));
    var attributes =
        Map.of("layout", layout, "groupSize", 32, "zeroFormat", zeroFormat, "outDtype", "f32");
    for (var c : Runner.all(OP, inputs, attributes, "c").entrySet()) {
      for (int i = 0; i < k * n; i++) {
        int group = i / n / 32;
        double exact =
            scales.get((long) group * n + i % n) * (weights[i / n][i % n] - zeros[group][i % n]);
        assertThat(c.getValue()[i])
            .as("element %d of %s", i, c.getKey())
            .isCloseTo(exact, Offset.offset(Math.abs(exact) * 0x1p-11));
      }
    }
  }

  /** By default, the zero points of GPTQ are stored less one, and those of AWQ are not. */
  @Test
  void defaultsToTheZeroFormatOfTheLayout() {
    var inputs = new HashMap<String, HostTensor>(ones(2, 8, 32, 0x99999999L, 1));
    inputs.put("packed", Tensors.filled(TensorType.of(DType.U32, 4, 8), 0x99999999L));
    inputs.put("zeros", Tensors.filled(TensorType.of(DType.U32, 1, 1), 0x77777777L));
    for (var c : Runner.all(OP, inputs, Map.of("layout", "gptq"), "c").entrySet()) {
      assertThat(c.getValue()).as(c.getKey()).containsOnly(32);
    }
    inputs.put("packed", Tensors.filled(TensorType.of(DType.U32, 32, 1), 0x99999999L));
    for (var c : Runner.all(OP, inputs, Map.of("layout", "awq"), "c").entrySet()) {
      assertThat(c.getValue()).as(c.getKey()).containsOnly(64);
    }
  }

  /**
   * Each column and group has its own scale. Includes groups of 64 and an incomplete last group.
   */
  @ParameterizedTest
  @CsvSource({
    "f16, 64, 64, 128, 128",
    "f16, 128, 128, 256, 128",
    "f16, 256, 256, 512, 128",
    "f16, 17, 13, 256, 128",
    "f16, 16, 8, 128, 64",
    "f16, 16, 8, 192, 64",
    "f16, 17, 13, 192, 128",
    "bf16, 128, 128, 256, 64",
    "bf16, 128, 130, 256, 32",
    "bf16, 17, 13, 192, 128",
    "bf16, 17, 13, 160, 32"
  })
  void appliesTheScaleOfEachColumnAndGroup(String in, int m, int n, int k, int group) {
    var draw = new Draw(new Random(6));
    var inputs =
        Map.of(
            "a", draw.normal(DType.of(in).orElseThrow(), m, k),
            "packed", draw.bytes(TensorType.of(DType.U32, n, k / 8)),
            "scales", draw.uniform(0.01, 0.1, TensorType.of(DType.F16, Math.ceilDiv(k, group), n)));
    var attributes = Attributes.of(OP.description(), Map.of("groupSize", group, "outDtype", "f32"));
    Runner.verify(
        OP, List.of(new Op.Case(inputs, attributes, Map.of("c", Tolerance.relative(1e-3)))));
  }

  /**
   * Weights quantized in groups of 32 as in the simplest form of GPTQ: the scale of a group is max
   * |w| / 7, and w / scale is rounded and clamped to -8 to 7.
   */
  private record Quantized(HostTensor packed, HostTensor scales) {

    /**
     * Quantizes weights.
     *
     * @param w weights of shape [N, K]
     */
    static Quantized of(HostTensor w) {
      int n = (int) w.type().shape().extent(0);
      int k = (int) w.type().shape().extent(1);
      var scales = HostTensor.zeros(TensorType.of(DType.F16, k / 32, n));
      var packed = HostTensor.zeros(TensorType.of(DType.U32, n, k / 8));
      for (int column = 0; column < n; column++) {
        for (int group = 0; group < k / 32; group++) {
          double greatest = 0;
          for (int i = 0; i < 32; i++) {
            greatest = Math.max(greatest, Math.abs(w.get(column * k + group * 32 + i)));
          }
          DType.F16.write(scales.data(), (long) group * n + column, greatest / 7);
        }
        for (int word = 0; word < k / 8; word++) {
          long bits = 0;
          for (int i = 0; i < 8; i++) {
            double scale = scales.get((long) (word / 4) * n + column);
            long q = Math.clamp((long) Math.rint(w.get(column * k + word * 8 + i) / scale), -8, 7);
            bits |= (q & 15) << (4 * i);
          }
          DType.U32.writeLong(packed.data(), (long) column * (k / 8) + word, bits);
        }
      }
      return new Quantized(packed, scales);
    }

    /** Returns the dequantized weight of a column at a position along K. */
    double weight(int column, int at) {
      long words = packed.type().shape().extent(1);
      long word = DType.U32.readLong(packed.data(), column * words + at / 8);
      long q = word << (60 - 4 * (at % 8)) >> 60;
      return q * scales.get(at / 32 * scales.type().shape().extent(1) + column);
    }
  }

  @Test
  void packsEightNibblesPerWord() {
    var weights = Tensors.filled(TensorType.of(DType.F32, 1, 32), 7);
    for (int i = 8; i < 32; i++) {
      DType.F32.write(weights.data(), i, i < 16 ? 1 : -1);
    }
    assertThat(Quantized.of(weights).packed().toDoubles())
        .containsExactly(0x77777777L, 0x11111111L, 0xFFFFFFFFL, 0xFFFFFFFFL);
  }

  /**
   * Kernels compute with exactly the quantized weights; only tensor-core kernels of f16 round them,
   * to f16. The products point in the same direction as those of the original weights.
   */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"F16", "BF16"})
  void multipliesTheQuantizedWeights(DType in) {
    int m = 5;
    int n = 24;
    int k = 128;
    var w = new Draw(new Random(7)).normal(DType.F32, n, k);
    var quantized = Quantized.of(w);
    var a = new Draw(new Random(8)).normal(in, m, k);
    var inputs = Map.of("a", a, "packed", quantized.packed, "scales", quantized.scales);
    var results = Runner.all(OP, inputs, Map.of("groupSize", 32, "outDtype", "f32"), "c");
    assertThat(results.keySet()).anyMatch(kernel -> kernel.startsWith("mma"));
    var half = HostTensor.zeros(TensorType.of(DType.F16, 1));
    results.forEach((kernel, c) -> {
      var expected = new double[m * n];
      var original = new double[m * n];
      for (int i = 0; i < m * n; i++) {
        for (int at = 0; at < k; at++) {
          original[i] += a.get((long) (i / n) * k + at) * w.get((long) (i % n) * k + at);
          DType.F16.write(half.data(), 0, quantized.weight(i % n, at));
          boolean rounds = in == DType.F16 && kernel.startsWith("mma");
          double weight = rounds ? half.get(0) : quantized.weight(i % n, at);
          expected[i] += a.get((long) (i / n) * k + at) * weight;
        }
      }
      assertThat(Tolerance.maximum(1e-5).error(c, expected)).as(kernel).isLessThan(1e-5);
      assertThat(Tensors.cosine(c, original)).as(kernel).isGreaterThan(0.98);
    });
  }

  @Test
  void dequantizesWithinHalfAScale() {
    int k = 64;
    int n = 13;
    var w = new Draw(new Random(5)).normal(DType.F32, n, k);
    var quantized = Quantized.of(w);
    var scales = quantized.scales;
    var inputs = Map.of("x", quantized.packed, "scale", scales);
    for (var y : Runner.all(new Dequantize(), inputs, Map.of("groupSize", 32), "y").values()) {
      for (int i = 0; i < n * k; i++) {
        double scale = scales.get((long) (i % k / 32) * n + i / k);
        assertThat(Math.abs(y[i] - w.get(i))).isLessThanOrEqualTo(0.502 * scale);
      }
    }
  }
}
