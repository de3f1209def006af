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
 * Compares the decoding of every quantized format with an independent implementation of its
 * published definition: {@code formats/vectors.py} writes {@code formats/vectors.txt}.
 */
class FormatsTest {

  /** A line of the file: bytes of a format, and the numbers that they encode. */
  @SuppressWarnings("ArrayRecordComponent") // vectors are not compared
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
  void decodesBlocks(DType format) {
    var vector = vector(format.text());
    var x =
        new HostTensor(
            TensorType.of(format, format.blockElements()), MemorySegment.ofArray(vector.bytes));
    assertClose("the scalar decoder", x.toDoubles(), vector.numbers);
    Runner.all(new Dequantize(), Map.of("x", x), Map.of(), "y")
        .forEach((kernel, y) -> assertClose(kernel, y, vector.numbers));
    if (BlockFormat.GGML.contains(format)) {
      // each row of a selects some weights; together they select each weight once
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
          .forEach((kernel, c) -> assertClose(kernel, c, sums));
    }
  }

  /** Scales are subnormal for the first two exponents; products are infinite for the last two. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 127, 254, 255})
  void decodesEveryExponentOfMxfp4(int exponent) {
    var x = HostTensor.zeros(TensorType.of(DType.MXFP4, 2, 32));
    for (int i = 0; i < x.data().byteSize(); i++) {
      DType.U8.writeLong(x.data(), i, i % 17 == 0 ? exponent : i * 29 % 256);
    }
    var exact = Arrays.stream(x.toDoubles()).map(value -> (float) value).toArray();
    Runner.all(new Dequantize(), Map.of("x", x), Map.of(), "y")
        .forEach((kernel, y) -> assertThat(y).as(kernel).isEqualTo(exact));
  }

  @ParameterizedTest
  @ValueSource(strings = {"gptq", "awq", "k-packed"})
  void decodesPackedWords(String layout) {
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
        .forEach((kernel, y) -> assertClose(kernel, y, vector.numbers));
    var factors =
        Map.of(
            "a",
            Tensors.identity(DType.F16, k),
            "packed",
            words,
            "scales",
            Tensors.filled(TensorType.of(DType.F16, 1, n), 1));
    Runner.all(new MatmulInt4(), factors, Map.of("layout", layout), "c")
        .forEach((kernel, c) -> assertClose(kernel, c, rows(vector.numbers, layout, k, n)));
  }

  /** Returns the numbers as [K, N]. */
  private static double[] rows(double[] numbers, String layout, int k, int n) {
    if (!layout.equals("k-packed")) {
      return numbers;
    }
    var transposed = new double[numbers.length];
    for (int i = 0; i < transposed.length; i++) {
      transposed[i] = numbers[i % n * k + i / n];
    }
    return transposed;
  }

  private static void assertClose(String by, double[] values, double[] expected) {
    assertThat(values).as(by).hasSameSizeAs(expected);
    double magnitude = Arrays.stream(expected).map(Math::abs).max().orElseThrow();
    for (int i = 0; i < expected.length; i++) {
      assertThat(values[i])
          .as("element %d by %s", i, by)
          .isCloseTo(expected[i], Offset.offset(2e-6 * Math.max(1, magnitude)));
    }
  }
}
