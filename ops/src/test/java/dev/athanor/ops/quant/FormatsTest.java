package dev.athanor.ops.quant;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.linear.quantized.MatmulGguf;
import dev.athanor.ops.linear.quantized.MatmulInt4;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.data.Offset;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Bytes of every quantized format against the numbers that an independent implementation of its
 * published definition gives: {@code formats/vectors.py} writes {@code formats/vectors.txt}.
 */
class FormatsTest {

  /** A line of the file: a format, its bytes, and the numbers. */
  @SuppressWarnings("ArrayRecordComponent") // nobody compares vectors
  private record Vector(byte[] bytes, double[] numbers) {}

  private static Vector vector(String format) {
    try (var file =
        Objects.requireNonNull(FormatsTest.class.getResourceAsStream("/formats/vectors.txt"))) {
      var line =
          new String(file.readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .filter(each -> each.startsWith(format + " "))
              .findFirst()
              .orElseThrow();
      var words = line.split(" ");
      return new Vector(
          HexFormat.of().parseHex(words[1]),
          Arrays.stream(words).skip(2).mapToDouble(Double::parseDouble).toArray());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  static List<DType> blockFormats() {
    return Arrays.stream(DType.values()).filter(DType::isBlock).toList();
  }

  @ParameterizedTest
  @MethodSource("blockFormats")
  void blocksAreWhatTheirFormatSays(DType format) {
    var vector = vector(format.text());
    var x =
        new HostTensor(
            TensorType.of(format, format.blockElements()), MemorySegment.ofArray(vector.bytes));
    same("the scalar decoder", x.toDoubles(), vector.numbers);
    Runner.all(new Dequantize(), Map.of("x", x), Map.of(), "y")
        .forEach((kernel, y) -> same(kernel, y, vector.numbers));
    if (BlockFormat.GGML.contains(format)) {
      // each row of a picks weights, as many as make each weight count once
      int k = format.blockElements();
      int rows = 16;
      var a = HostTensor.zeros(TensorType.of(DType.F32, rows, k));
      var sums = new double[rows];
      for (int i = 0; i < k; i++) {
        int row = i * 5 % rows;
        DType.F32.write(a.data(), (long) row * k + i, i + 1);
        sums[row] += (i + 1) * vector.numbers[i];
      }
      var w = new HostTensor(TensorType.of(format, 1, k), MemorySegment.ofArray(vector.bytes));
      Runner.all(new MatmulGguf(), Map.of("a", a, "w", w), Map.of(), "c")
          .forEach((kernel, c) -> same(kernel, c, sums));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"gptq", "awq", "k-packed"})
  void wordsAreWhatTheirLayoutSays(String layout) {
    int k = 32;
    int n = 16;
    var vector = vector(layout);
    var type =
        switch (layout) {
          case "gptq" -> TensorType.of(DType.U32, k / 8, n);
          case "awq" -> TensorType.of(DType.U32, k, n / 8);
          default -> TensorType.of(DType.U32, n, k / 8);
        };
    var words = new HostTensor(type, MemorySegment.ofArray(vector.bytes));
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("x", words);
    inputs.put("scale", Tensors.filled(TensorType.of(DType.F16, 1, n), 1));
    Runner.all(new Dequantize(), inputs, Map.of("layout", layout), "y")
        .forEach((kernel, y) -> same(kernel, y, vector.numbers));
    var factors =
        Map.of(
            "a",
            Tensors.identity(DType.F16, k),
            "packed",
            words,
            "scales",
            Tensors.filled(TensorType.of(DType.F16, 1, n), 1));
    Runner.all(new MatmulInt4(), factors, Map.of("layout", layout), "c")
        .forEach((kernel, c) -> same(kernel, c, rows(vector.numbers, layout, k, n)));
  }

  /** The numbers as [K, N]. */
  private static double[] rows(double[] numbers, String layout, int k, int n) {
    if (!layout.equals("k-packed")) {
      return numbers;
    }
    var turned = new double[numbers.length];
    for (int i = 0; i < turned.length; i++) {
      turned[i] = numbers[i % n * k + i / n];
    }
    return turned;
  }

  private static void same(String by, double[] values, double[] right) {
    assertThat(values).as(by).hasSameSizeAs(right);
    double magnitude = Arrays.stream(right).map(Math::abs).max().orElseThrow();
    for (int i = 0; i < right.length; i++) {
      assertThat(values[i])
          .as("element %d by %s", i, by)
          .isCloseTo(right[i], Offset.offset(2e-6 * Math.max(1, magnitude)));
    }
  }
}
