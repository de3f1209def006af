package dev.athanor.ops.quant;

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
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A vector times weights in blocks, as a decoder does it, against the scalar decoders. */
class BlockProductsTest {

  private static final MatmulGguf GGUF = new MatmulGguf();

  private static double[] exact(Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var given = Attributes.of(op.description(), attributes);
    return Objects.requireNonNull(op.reference(inputs, given).get("c"));
  }

  /** In f32 nothing is lost but roundings of the sum, which is small where its terms cancel. */
  @ParameterizedTest
  @CsvSource({
    "Q4_0, 1e-6",
    "Q4_1, 1e-6",
    "Q5_0, 1e-6",
    "Q8_0, 1e-6",
    "Q4_K, 1e-6",
    "Q5_K, 2e-7",
    "Q6_K, 1e-6"
  })
  void vectorsOfSinglesLoseOnlyRoundings(DType format, double limit) {
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

  /** The greatest logit is that of the exact product. */
  @ParameterizedTest
  @EnumSource(names = {"Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})
  void logitsOfBlocksHaveTheGreatestOfTheExactOnes(DType format) {
    var draw = new Draw(new Random(22));
    var inputs =
        Map.of(
            "a", draw.normal(DType.F16, 1, 512), "w", draw.blocks(TensorType.of(format, 200, 512)));
    sameDirection(GGUF, inputs, Map.of());
  }

  @ParameterizedTest
  @ValueSource(strings = {"k-packed", "gptq", "awq"})
  void logitsOfWordsHaveTheGreatestOfTheExactOnes(String layout) {
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
    sameDirection(new MatmulInt4(), inputs, Map.of("layout", layout));
  }

  private static void sameDirection(
      Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var exact = exact(op, inputs, attributes);
    var c = Runner.run(op, inputs, attributes, "c").toDoubles();
    assertThat(Tensors.cosine(c, exact)).isGreaterThan(0.9999);
    assertThat(Tensors.greatest(c)).isEqualTo(Tensors.greatest(exact));
  }

  /** The nearest entry of the table, decoded by the kernel, is at most 0.16 of the scale away. */
  @Test
  void numbersInNf4ComeBack() {
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
      DType.U8.writeLong(block.data(), at, other | ((long) nearest << (4 * (i % 2))));
    }
    Runner.all(new Dequantize(), Map.of("x", block), Map.of(), "y")
        .forEach((kernel, y) -> {
          for (int i = 0; i < n; i++) {
            assertThat(Math.abs(y[i] - x.get(i))).as(kernel).isLessThan(0.16 * scale);
          }
        });
  }
}
