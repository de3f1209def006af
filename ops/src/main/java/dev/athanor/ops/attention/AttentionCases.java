package dev.athanor.ops.attention;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** Problems that exercise every dtype, mask, tile, alignment and edge. */
final class AttentionCases {

  private static final List<DType> DTYPES = List.of(DType.F32, DType.F16, DType.BF16);

  /**
   * A problem.
   *
   * @param given the attributes
   */
  private record Size(
      int batch, int heads, int sharedHeads, int sq, int sk, int d, int dv, Map<String, ?> given) {

    static Size oneHead(int sq, int sk, int d, int dv, Map<String, ?> given) {
      return new Size(1, 1, 1, sq, sk, d, dv, given);
    }

    TensorType of(DType dtype, int h, int rows, int columns) {
      return batch * heads == 1
          ? TensorType.of(dtype, rows, columns)
          : TensorType.of(dtype, batch, h, rows, columns);
    }

    Map<String, HostTensor> draw(Draw draw, DType dtype) {
      return Map.of(
          "q", draw.normal(0, 1, of(dtype, heads, sq, d)),
          "k", draw.normal(0, 1, of(dtype, sharedHeads, sk, d)),
          "v", draw.normal(0, 1, of(dtype, sharedHeads, sk, dv)));
    }
  }

  private static final Map<String, ?> PLAIN = Map.of();
  private static final Map<String, ?> LSE = Map.of("withLse", true);
  private static final Map<String, ?> CAUSAL = Map.of("causal", true);
  private static final Map<String, ?> CAUSAL_LSE = Map.of("causal", true, "withLse", true);

  private static final List<Size> FORWARD =
      List.of(
          Size.oneHead(1, 1, 1, 1, LSE),
          Size.oneHead(17, 17, 16, 8, CAUSAL_LSE),
          Size.oneHead(33, 65, 31, 13, LSE),
          Size.oneHead(65, 63, 36, 20, CAUSAL_LSE),
          Size.oneHead(19, 127, 64, 64, PLAIN),
          Size.oneHead(1, 300, 64, 64, LSE),
          Size.oneHead(7, 260, 72, 40, CAUSAL),
          Size.oneHead(70, 100, 64, 64, Map.of("causal", true, "window", 9)),
          Size.oneHead(31, 140, 64, 64, Map.of("window", 33, "withLse", true)),
          Size.oneHead(40, 70, 64, 64, Map.of("causal", true, "softcap", 2, "scale", 0.3)),
          Size.oneHead(16, 33, 128, 128, CAUSAL),
          Size.oneHead(13, 40, 256, 256, Map.of("causal", true, "softcap", 20, "withLse", true)),
          Size.oneHead(33, 16, 192, 100, PLAIN),
          Size.oneHead(18, 21, 99, 71, CAUSAL),
          new Size(2, 4, 2, 17, 33, 32, 32, CAUSAL_LSE),
          new Size(3, 3, 1, 5, 18, 48, 16, PLAIN));

  private static final List<Size> QUICK_FORWARD =
      List.of(
          Size.oneHead(17, 19, 16, 8, CAUSAL_LSE),
          Size.oneHead(5, 270, 64, 64, LSE),
          new Size(2, 4, 2, 33, 31, 40, 36, Map.of("causal", true, "window", 7, "softcap", 5)));

  private AttentionCases() {}

  /**
   * All sizes, but of bf16 every other one: its kernels are those of f16 with other conversions.
   */
  static <T> List<T> every(DType dtype, List<T> sizes) {
    return dtype == DType.BF16
        ? IntStream.range(0, sizes.size()).filter(i -> i % 2 == 1).mapToObj(sizes::get).toList()
        : sizes;
  }

  static List<Case> forward(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var op = new Attention();
    var cases = new ArrayList<Case>();
    for (var dtype : DTYPES) {
      for (var size : every(dtype, quick ? QUICK_FORWARD : FORWARD)) {
        cases.add(forward(op, size.draw(draw, dtype), size.given));
      }
      // a query with a NaN or an infinity is lost, and no other is
      var special = new HashMap<>(Size.oneHead(20, 18, 8, 8, PLAIN).draw(draw, dtype));
      special.put("q", products(draw.special(dtype, 20, 8)));
      cases.add(forward(op, special, LSE));
      // more queries than keys: the first see none
      cases.add(forward(op, Size.oneHead(37, 20, 16, 16, PLAIN).draw(draw, dtype), CAUSAL_LSE));
    }
    return cases;
  }

  /** The same but for numbers so great that their products are beyond f32. */
  private static HostTensor products(HostTensor tensor) {
    for (long i = 0; i < tensor.type().shape().elements(); i++) {
      double value = tensor.get(i);
      if (Double.isFinite(value) && Math.abs(value) > 1e30) {
        tensor.type().dtype().write(tensor.data(), i, 1);
      }
    }
    return tensor;
  }

  private static Case forward(Op op, Map<String, HostTensor> inputs, Map<String, ?> given) {
    var attributes = Attributes.of(op.description(), given);
    var dtype = inputs.values().iterator().next().type().dtype();
    return new Case(
        inputs,
        attributes,
        Map.of("out", Attention.tolerance(dtype), "lse", Tolerance.maximum(1e-5)));
  }

  private static final List<Size> BACKWARD =
      List.of(
          Size.oneHead(1, 2, 1, 1, PLAIN),
          Size.oneHead(17, 17, 19, 13, CAUSAL),
          Size.oneHead(33, 65, 36, 20, PLAIN),
          Size.oneHead(65, 63, 64, 64, CAUSAL),
          Size.oneHead(40, 70, 32, 32, Map.of("causal", true, "window", 9)),
          Size.oneHead(31, 100, 16, 16, Map.of("window", 33, "softcap", 3, "scale", 0.5)),
          Size.oneHead(16, 33, 128, 128, CAUSAL),
          Size.oneHead(13, 20, 256, 40, Map.of("causal", true, "softcap", 20)),
          Size.oneHead(17, 19, 24, 201, PLAIN),
          new Size(2, 4, 2, 17, 33, 32, 32, CAUSAL),
          new Size(2, 3, 1, 5, 18, 48, 16, PLAIN));

  private static final List<Size> QUICK_BACKWARD =
      List.of(
          Size.oneHead(17, 19, 19, 13, CAUSAL),
          new Size(2, 4, 2, 33, 31, 40, 36, Map.of("causal", true, "window", 7, "softcap", 5)));

  static List<Case> backward(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    for (var dtype : DTYPES) {
      for (var size : every(dtype, quick ? QUICK_BACKWARD : BACKWARD)) {
        cases.add(backward(draw, size, dtype));
      }
      cases.add(backward(draw, Size.oneHead(37, 20, 16, 16, CAUSAL), dtype));
    }
    return cases;
  }

  /** With out and lse of attention in float64, rounded as attention rounds them. */
  private static Case backward(Draw draw, Size size, DType dtype) {
    var inputs = new HashMap<>(size.draw(draw, dtype));
    inputs.put("grad", draw.normal(0, 1, size.of(dtype, size.heads, size.sq, size.dv)));
    var attributes = Attributes.of(new AttentionBackward().description(), size.given);
    inputs.putAll(forwardOutputs(inputs, attributes));
    var tolerance = AttentionBackward.tolerance(dtype);
    return new Case(inputs, attributes, Map.of("dq", tolerance, "dk", tolerance, "dv", tolerance));
  }

  /** The outputs of attention, for its gradients. */
  static Map<String, HostTensor> forwardOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = AttentionProblem.of(HostTensor.types(inputs), attributes);
    var outputs = AttentionReference.forward(inputs, attributes);
    return Map.of(
        "out", HostTensor.of(p.out(), AttentionReference.get(outputs, "out")),
        "lse", HostTensor.of(p.lse(), AttentionReference.get(outputs, "lse")));
  }
}
