package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.client.ops.Activation;
import dev.athanor.client.ops.AsyncOperations;
import dev.athanor.client.ops.Form;
import dev.athanor.client.ops.Kind;
import dev.athanor.client.ops.Operations;
import dev.athanor.client.ops.Order;
import dev.athanor.client.ops.Per;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests every typed method against a live service, over both transports. */
@Tag(TestTier.THOROUGH_TAG)
class OperationsTest {

  private static final float TOLERANCE = 1e-3f;

  private static final Map<String, Consumer<Operations<HostTensor>>> EXAMPLES =
      new LinkedHashMap<>();

  private static HostTensor f32(float... values) {
    return HostTensor.of(values);
  }

  private static HostTensor matrix(int columns, float... values) {
    return HostTensor.of(values, values.length / columns, columns);
  }

  /** Returns an f16 matrix of one value, given by its bits. */
  private static HostTensor halves(int bits, long... shape) {
    var values = new short[(int) Shapes.elements(Shapes.list(shape))];
    Arrays.fill(values, (short) bits);
    return HostTensor.of(DType.F16, values, shape);
  }

  private static final int ONE = 0x3c00;

  private static HostTensor bytes(int value, long... shape) {
    var values = new byte[(int) Shapes.elements(Shapes.list(shape))];
    Arrays.fill(values, (byte) value);
    return HostTensor.of(DType.I8, values, shape);
  }

  private static HostTensor words(int bits, long... shape) {
    var values = new int[(int) Shapes.elements(Shapes.list(shape))];
    Arrays.fill(values, bits);
    return HostTensor.of(DType.U32, values, shape);
  }

  private static void near(HostTensor actual, double... expected) {
    var values = actual.toFloats();
    assertThat(values).hasSize(expected.length);
    for (int i = 0; i < expected.length; i++) {
      assertThat(values[i]).isCloseTo((float) expected[i], within(TOLERANCE));
    }
  }

  private static void all(HostTensor actual, double expected) {
    for (float value : actual.toFloats()) {
      assertThat(value).isCloseTo((float) expected, within(TOLERANCE));
    }
  }

  static {
    var x = f32(1, -2);
    var ones = f32(1, 1);
    var row = matrix(2, 3, 4);
    double rms = Math.sqrt(12.5);
    var q = HostTensor.of(new float[] {1, 0}, 1, 1, 1, 2);
    EXAMPLES.put("add", o -> near(o.add(x, ones), 2, -1));
    EXAMPLES.put(
        "argmax",
        o -> assertThat(o.argmax(x, p -> p.outDtype(DType.I32)).toInts()).containsExactly(0));
    EXAMPLES.put(
        "attention",
        o -> {
          var result = o.attention(q, q, q, p -> p.withLse(true));
          near(result.out(), 1, 0);
          near(Objects.requireNonNull(result.lse()), 1 / Math.sqrt(2));
          assertThat(o.attention(q, q, q).lse()).isNull();
        });
    EXAMPLES.put(
        "attention-backward",
        o -> {
          var lse = HostTensor.of(new float[] {(float) (1 / Math.sqrt(2))}, 1, 1, 1);
          var result = o.attentionBackward(q, q, q, q, q, lse);
          near(result.dv(), 1, 0);
          near(result.dq(), 0, 0);
          near(result.dk(), 0, 0);
        });
    EXAMPLES.put(
        "attention-decode",
        o -> near(o.attentionDecode(q, q, q, HostTensor.of(new int[] {1})), 1, 0));
    var image = HostTensor.of(new float[] {1, 2, 3, 4}, 1, 1, 4);
    var taps = HostTensor.of(new float[] {1, 10}, 1, 1, 2);
    EXAMPLES.put("average-pool", o -> near(o.averagePool(image, p -> p.kernel(2)), 1.5, 2.5, 3.5));
    EXAMPLES.put("convolution", o -> near(o.convolution(image, taps, p -> p.strides(2)), 21, 43));
    EXAMPLES.put(
        "convolution-transpose",
        o ->
            near(
                o.convolutionTranspose(image, taps, p -> p.strides(2)),
                1,
                10,
                2,
                20,
                3,
                30,
                4,
                40));
    EXAMPLES.put(
        "causal-convolution",
        o -> {
          var sequence = HostTensor.of(new float[] {3, 4}, 1, 1, 2);
          var result = o.causalConvolution(sequence, matrix(2, 1, 10));
          near(result.y(), 30, 43);
          near(result.next(), 4);
        });
    EXAMPLES.put(
        "grouped-matmul",
        o -> {
          var b = HostTensor.of(new float[] {1, 0, 0, 1, 2, 0, 0, 2}, 2, 2, 2);
          var sizes = HostTensor.of(new int[] {1, 1}, 2);
          near(o.groupedMatmul(matrix(2, 1, 2, 3, 4), b, sizes), 1, 2, 6, 8);
        });
    EXAMPLES.put("group-norm", o -> near(o.groupNorm(row, 1), -1, 1));
    EXAMPLES.put("resize", o -> near(o.resize(image, p -> p.sizes(2)), 1, 3));
    EXAMPLES.put("max-pool", o -> near(o.maxPool(image, p -> p.kernel(2).after(1)), 2, 3, 4, 4));
    EXAMPLES.put(
        "max-pool-with-indices",
        o -> {
          var result = o.maxPoolWithIndices(image, p -> p.kernel(2).after(1));
          near(result.y(), 2, 3, 4, 4);
          assertThat(result.indices().toLongs()).containsExactly(1, 2, 3, 3);
        });
    EXAMPLES.put(
        "bias-activation",
        o -> near(o.biasActivation(row, f32(1, -9), p -> p.activation(Activation.RELU)), 4, 0));
    EXAMPLES.put(
        "cast",
        o -> assertThat(o.cast(f32(1.9f, -1.9f), DType.I32).toInts()).containsExactly(1, -1));
    EXAMPLES.put(
        "dequantize",
        o -> near(o.dequantize(bytes(2, 1, 4), p -> p.scale(HostTensor.scalar(0.5f))), 1, 1, 1, 1));
    EXAMPLES.put(
        "gather", o -> near(o.gather(matrix(2, 1, 2, 3, 4), HostTensor.of(new int[] {1})), 3, 4));
    EXAMPLES.put("geglu", o -> near(o.geglu(f32(0, 0), x), 0, 0));
    EXAMPLES.put("gelu", o -> near(o.gelu(f32(0, 1), p -> p.form(Form.ERF)), 0, 0.8413447));
    EXAMPLES.put("gemv", o -> near(o.gemv(matrix(2, 1, 2, 3, 4), ones), 3, 7));
    EXAMPLES.put(
        "linear-attention",
        o -> {
          var result = o.linearAttention(q, q, q, p -> p.scale(2));
          near(result.out(), 2, 0);
          near(result.next(), 1, 0, 0, 0);
        });
    EXAMPLES.put(
        "layer-norm", o -> near(o.layerNorm(row, p -> p.gamma(ones).beta(f32(0, 0))), -1, 1));
    EXAMPLES.put(
        "layer-norm-backward",
        o -> near(o.layerNormBackward(matrix(2, 1, 1), row, p -> p.gamma(ones)).dbeta(), 1, 1));
    EXAMPLES.put(
        "layer-norm-linear",
        o ->
            near(
                o.layerNormLinear(row, matrix(2, 1, 0, 0, 1), p -> p.gamma(ones).beta(f32(0, 0))),
                -1,
                1));
    EXAMPLES.put(
        "matmul",
        o -> {
          var a = matrix(2, 1, 2, 3, 4);
          near(o.matmul(a, matrix(2, 5, 6, 7, 8)), 19, 22, 43, 50);
          near(
              o.matmul(a, a, p -> p.transposeB(true).alpha(-1).activation(Activation.RELU)),
              0,
              0,
              0,
              0);
          near(o.matmul(a, a, p -> p.bias(f32(1, 1))), 8, 11, 16, 23);
        });
    EXAMPLES.put(
        "matmul-backward",
        o -> {
          var result =
              o.matmulBackward(matrix(2, 1, 0, 0, 1), matrix(2, 1, 2, 3, 4), matrix(2, 1, 0, 0, 1));
          near(result.da(), 1, 0, 0, 1);
          near(result.db(), 1, 3, 2, 4);
        });
    EXAMPLES.put(
        "matmul-fp4",
        o -> {
          var weights = new byte[16];
          Arrays.fill(weights, (byte) 0x22); // twice the e2m1 number 1
          var scales = HostTensor.of(DType.U8, new byte[] {(byte) 128}, 1, 1); // 2^1
          near(
              o.matmulFp4(halves(ONE, 1, 32), HostTensor.of(DType.U8, weights, 1, 16), scales), 64);
        });
    EXAMPLES.put(
        "matmul-fp8",
        o -> {
          var eights = new byte[16];
          Arrays.fill(eights, (byte) 0x38); // the e4m3 number 1
          near(
              o.matmulFp8(
                  HostTensor.of(DType.E4M3, eights, 1, 16),
                  HostTensor.of(DType.E4M3, eights, 16, 1)),
              16);
        });
    EXAMPLES.put(
        "matmul-gguf",
        o -> {
          var block = new byte[34];
          block[1] = 0x3c; // the scale 1 in f16
          Arrays.fill(block, 2, 34, (byte) 1);
          near(o.matmulGguf(halves(ONE, 1, 32), HostTensor.of(DType.Q8_0, block, 1, 32)), 32);
        });
    EXAMPLES.put(
        "matmul-int4",
        o ->
            all(
                o.matmulInt4(
                    halves(ONE, 1, 32),
                    words(0x11111111, 8, 4),
                    halves(ONE, 1, 8),
                    p -> p.groupSize(32)),
                32));
    EXAMPLES.put(
        "matmul-int8",
        o ->
            assertThat(
                    o.matmulInt8(bytes(1, 1, 16), bytes(2, 16, 1), p -> p.outDtype(DType.I32))
                        .toInts())
                .containsExactly(32));
    EXAMPLES.put("mul", o -> near(o.mul(x, x), 1, 4));
    EXAMPLES.put(
        "qkv-project-int4",
        o -> {
          var w = words(0x11111111, 8, 4);
          var scale = halves(ONE, 1, 8);
          var result =
              o.qkvProjectInt4(
                  halves(ONE, 1, 32), w, w, w, scale, scale, scale, p -> p.groupSize(32));
          all(result.q(), 32);
          all(result.k(), 32);
          all(result.v(), 32);
        });
    EXAMPLES.put(
        "qkv-project-int8",
        o -> {
          var w = bytes(1, 32, 8);
          var scale = HostTensor.scalar(1);
          all(o.qkvProjectInt8(halves(ONE, 1, 32), w, w, w, scale, scale, scale).v(), 32);
        });
    EXAMPLES.put(
        "quantize",
        o -> {
          var values = new float[32];
          Arrays.fill(values, 127);
          var encoded = o.quantize(matrix(32, values));
          assertThat(encoded.dtype()).isEqualTo(DType.Q8_0);
          assertThat(encoded.toBytes()).startsWith(0, 0x3C, 127).hasSize(34); // the scale is 1
          all(o.dequantize(encoded), 127);
        });
    EXAMPLES.put(
        "quantize-fp8",
        o -> {
          var result = o.quantizeFp8(matrix(2, 448, -1), p -> p.per(Per.ROW));
          assertThat(result.q().toBytes()).containsExactly(0x7E, 0xB8);
          near(result.scale(), 1);
        });
    EXAMPLES.put(
        "quantize-int8",
        o -> {
          var result = o.quantizeInt8(matrix(2, 127, -127), p -> p.per(Per.ROW));
          assertThat(result.q().toBytes()).containsExactly(127, -127);
          near(result.scale(), 1);
        });
    EXAMPLES.put("reduce", o -> near(o.reduce(row, p -> p.kind(Kind.MAX)), 4));
    EXAMPLES.put("relu", o -> near(o.relu(x), 1, 0));
    EXAMPLES.put(
        "residual-layer-norm",
        o -> {
          var result = o.residualLayerNorm(row, row);
          near(result.y(), -1, 1);
          near(Objects.requireNonNull(result.sum()), 6, 8);
          assertThat(o.residualLayerNorm(row, row, p -> p.gamma(ones).order(Order.POST)).sum())
              .isNull();
        });
    EXAMPLES.put(
        "residual-rms-norm",
        o -> near(o.residualRmsNorm(row, row, p -> p.gamma(ones)).y(), 3 / rms, 4 / rms));
    EXAMPLES.put("rms-norm", o -> near(o.rmsNorm(row), 3 / rms, 4 / rms));
    EXAMPLES.put(
        "rms-norm-backward",
        o ->
            near(
                o.rmsNormBackward(matrix(2, 1, 1), row, p -> p.gamma(ones)).dgamma(),
                3 / rms,
                4 / rms));
    EXAMPLES.put(
        "rms-norm-rope",
        o ->
            near(
                o.rmsNormRope(row, matrix(1, 1), matrix(1, 0), p -> p.weight(ones).heads(1)),
                3 / rms,
                4 / rms));
    EXAMPLES.put(
        "rope",
        o -> near(o.rope(HostTensor.of(new float[] {3, 4}, 1, 1, 2), p -> p.theta(10000)), 3, 4));
    EXAMPLES.put("scale", o -> near(o.scale(x, p -> p.factor(-2)), -2, 4));
    EXAMPLES.put("sigmoid", o -> near(o.sigmoid(f32(0)), 0.5));
    EXAMPLES.put("silu", o -> near(o.silu(f32(0, 1)), 0, 1 / (1 + Math.exp(-1))));
    EXAMPLES.put("softmax", o -> near(o.softmax(matrix(2, 5, 5)), 0.5, 0.5));
    EXAMPLES.put(
        "softmax-dropout",
        o ->
            near(
                o.softmaxDropout(
                    matrix(2, 5, 5), HostTensor.of(DType.BOOL, new byte[] {1, 0}, 1, 2)),
                1,
                0));
    EXAMPLES.put("swiglu", o -> near(o.swiglu(f32(1), f32(2)), 2 / (1 + Math.exp(-1))));
    EXAMPLES.put("tanh", o -> near(o.tanh(f32(1)), Math.tanh(1)));
    EXAMPLES.put("transpose", o -> near(o.transpose(matrix(2, 1, 2, 3, 4)), 1, 3, 2, 4));
    EXAMPLES.putAll(ElementExamples.all());
    EXAMPLES.putAll(TrainingExamples.all());
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void returnsCorrectValuesToTheHost(String url) {
    try (var athanor = Athanor.connect(url)) {
      EXAMPLES.forEach((name, example) -> {
        if (name.equals("quantize") && url.startsWith("http")) {
          // over HTTP, inline outputs are a safetensors file, which has no block formats
          assertThatThrownBy(() -> example.accept(athanor.inline()))
              .isInstanceOf(AthanorException.class)
              .hasMessageStartingWith(
                  "output \"q\" is q8_0, which the response format cannot encode");
        } else {
          example.accept(athanor.inline());
        }
      });
    }
  }

  /** Uploads all operands and downloads all results, which runs every operation on handles. */
  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void returnsTheSameValuesOnTheDevice(String url) {
    try (var athanor = Athanor.connect(url)) {
      var opened = new ArrayList<Tensor>();
      var byHandles =
          new AsyncOperations<HostTensor>(call -> {
            call.inputs()
                .replaceAll((name, operand) -> {
                  var tensor = athanor.upload((HostTensor) operand);
                  opened.add(tensor);
                  return tensor;
                });
            return Futures.map(
                athanor.async().run(call),
                outputs -> {
                  var values = new LinkedHashMap<String, HostTensor>();
                  outputs.forEach((name, tensor) -> {
                    values.put(name, tensor.download());
                    opened.add(tensor);
                  });
                  return values;
                });
          });
      EXAMPLES.forEach((name, example) -> {
        example.accept(new Operations<>(byHandles));
        opened.forEach(Tensor::close);
        opened.clear();
      });
    }
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void hasAnExampleOfEveryOperation(String url) {
    try (var athanor = Athanor.connect(url)) {
      var names = new TreeSet<String>();
      athanor.ops().forEach(op -> names.add(op.name()));
      assertThat(EXAMPLES.keySet()).containsExactlyInAnyOrderElementsOf(names);
    }
  }
}
