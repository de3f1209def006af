package dev.athanor.ops.quant;

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
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class QuantizeBlocksTest {

  private static final int SIZE = 32;

  static List<DType> formats() {
    return BlockRule.ALL.stream().map(BlockRule::format).toList();
  }

  private static Map<String, Map<String, HostTensor>> quantized(DType format, HostTensor x) {
    return Runner.all(new QuantizeBlocks(), Map.of("x", x), Map.of("format", format.text()));
  }

  private static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }

  /** {@code formats/quantized.py} writes the bytes that the gguf package computes. */
  @ParameterizedTest
  @MethodSource("formats")
  void agreesWithGgmlBitForBit(DType format) throws IOException {
    try (var file =
        Objects.requireNonNull(getClass().getResourceAsStream("/formats/quantized.txt"))) {
      var lines =
          new String(file.readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .filter(line -> line.startsWith(format.text() + " "))
              .toList();
      assertThat(lines).hasSize(4);
      for (var line : lines) {
        var words = line.split(" ", -1);
        var numbers = MemorySegment.ofArray(HexFormat.of().parseHex(words[1]));
        var x = new HostTensor(TensorType.of(DType.F32, SIZE), numbers);
        assertThat(hex(BlockReference.encode(format, floats(x, 0)))).isEqualTo(words[2]);
        quantized(format, x)
            .forEach((kernel, outputs) ->
                assertThat(hex(bytes(Tensors.get(outputs, "q")))).as(kernel).isEqualTo(words[2]));
      }
    }
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static float[] floats(HostTensor x, int block) {
    var floats = new float[SIZE];
    for (int i = 0; i < SIZE; i++) {
      floats[i] = (float) x.get((long) block * SIZE + i);
    }
    return floats;
  }

  /**
   * Zeros, ties, NaN, infinities, and numbers whose scale underflows in f16 or whose inverse does.
   */
  @ParameterizedTest
  @MethodSource("formats")
  void kernelsAgreeWithTheReferenceBitForBit(DType format) {
    var draw = new Draw(new Random(7));
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16)) {
      var x = draw.integers(-5, 5, TensorType.of(dtype, 9, SIZE));
      double least = dtype.spacing(0);
      for (int i = 0; i < SIZE; i++) {
        dtype.write(x.data(), i, i % 3 == 0 ? 0.0 : -0.0);
        dtype.write(x.data(), SIZE + i, Double.NaN);
        dtype.write(x.data(), 2 * SIZE + i, i % 2 == 0 ? Double.NaN : Double.NEGATIVE_INFINITY);
        dtype.write(x.data(), 3 * SIZE + i, (i - 15) * least);
        dtype.write(x.data(), 4 * SIZE + i, i * 1024.0);
      }
      dtype.write(x.data(), 5 * SIZE + 3, Double.NaN);
      dtype.write(x.data(), 6 * SIZE + 20, Double.POSITIVE_INFINITY);
      for (var outputs : quantized(format, x).values()) {
        var q = bytes(Tensors.get(outputs, "q"));
        for (int block = 0; block < 9; block++) {
          assertThat(
                  HexFormat.of().formatHex(q, block * format.bytes(), (block + 1) * format.bytes()))
              .as("block %d of %s", block, dtype.text())
              .isEqualTo(hex(BlockReference.encode(format, floats(x, block))));
        }
      }
    }
  }

  /**
   * The error is at most half the distance between neighbors, or that of a number that is clamped.
   *
   * @param steps the greatest error in units of the scale
   */
  @ParameterizedTest
  @CsvSource({"Q8_0, 0.5", "Q4_0, 1", "Q4_1, 0.5", "Q5_0, 1", "IQ4_NL, 13", "MXFP4, 2"})
  void roundTripIsWithinAStep(DType format, double steps) {
    int n = 4 * SIZE;
    var x = new Draw(new Random(11)).normal(DType.F32, 5, n);
    for (var outputs : quantized(format, x).values()) {
      var q = Tensors.get(outputs, "q");
      assertThat(q.type()).isEqualTo(TensorType.of(format, 5, n));
      for (var y : Runner.all(new Dequantize(), Map.of("x", q), Map.of(), "y").values()) {
        for (int i = 0; i < y.length; i++) {
          long block = (long) i / SIZE * format.bytes();
          double scale =
              format == DType.MXFP4
                  ? Math.scalb(1.0, q.data().get(ValueLayout.JAVA_BYTE, block) + 256 - 127)
                  : Math.abs(DType.F16.read(q.data().asSlice(block, 2), 0));
          // the scale is rounded to f16
          double allowed = 1.001 * steps * scale + 1e-3 * Math.abs(x.get(i));
          assertThat(Math.abs(y[i] - x.get(i))).as("element %d", i).isLessThanOrEqualTo(allowed);
        }
      }
    }
  }

  /** The other numbers decode as if NaN and infinities were absent. */
  @ParameterizedTest
  @MethodSource("formats")
  void infinitiesSaturateAndNanBecomesTheClosestToZero(DType format) {
    var values = IntStream.range(0, SIZE).mapToDouble(i -> i % 9 - 4).toArray();
    values[8] = -4; // a number of the largest magnitude, besides -4 a maximum of 4
    Arrays.fill(values, 5, 8, 0);
    var plain = HostTensor.of(TensorType.of(DType.F32, SIZE), values);
    values[5] = Double.NaN;
    values[6] = Double.POSITIVE_INFINITY;
    values[7] = Double.NEGATIVE_INFINITY;
    var x = HostTensor.of(TensorType.of(DType.F32, SIZE), values);
    var expected =
        Tensors.get(quantized(format, plain).values().iterator().next(), "q").toDoubles();
    for (var outputs : quantized(format, x).values()) {
      var decoded = Tensors.get(outputs, "q").toDoubles();
      for (int i = 0; i < SIZE; i++) {
        if (i < 5 || i > 7) {
          assertThat(decoded[i]).isEqualTo(expected[i]);
        }
      }
      assertThat(decoded[5]).isEqualTo(expected[4]); // that of 0
      assertThat(decoded[6]).isGreaterThanOrEqualTo(expected[17]); // that of the maximum
      assertThat(decoded[7]).isLessThanOrEqualTo(expected[0]); // that of the minimum
    }
  }

  @Test
  void rejectsRowsOfPartialBlocks() {
    var op = new QuantizeBlocks();
    var attributes = Attributes.of(op.description(), Map.of("format", "q4_0"));
    for (var shape : List.of(TensorType.of(DType.F32, 3, 40), TensorType.of(DType.F32))) {
      assertThatThrownBy(() -> op.outputs(Map.of("x", shape), attributes))
          .isInstanceOf(OpException.ShapeMismatch.class)
          .hasMessage(
              "input \"x\" has shape %s; its last dimension must be a multiple of 32, the block size of q4_0"
                  .formatted(shape.shape()));
    }
  }
}
