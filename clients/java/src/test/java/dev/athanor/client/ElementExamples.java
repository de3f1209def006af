package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.client.ops.Operations;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.DoubleUnaryOperator;

/** Examples of the ops that compute expressions, and that copy, find or order elements. */
final class ElementExamples {

  private static final HostTensor X = f32(0.5f, 2);
  private static final HostTensor A = f32(6, -7);
  private static final HostTensor B = f32(2, 3);
  private static final HostTensor MATRIX = HostTensor.of(new float[] {1, 2, 3, 4}, 2, 2);
  private static final HostTensor YES_NO = bools(1, 0);
  private static final HostTensor YES_YES = bools(1, 1);

  private final Map<String, Consumer<Operations<HostTensor>>> examples = new LinkedHashMap<>();

  private ElementExamples() {}

  /** Returns an example of each of these ops, by name. */
  static Map<String, Consumer<Operations<HostTensor>>> all() {
    var all = new ElementExamples();
    all.ofOneOperand();
    all.ofTwoOperands();
    all.comparisons();
    all.withAttributes();
    all.copies();
    all.byIndex();
    all.alongDimensions();
    all.ranks();
    return all.examples;
  }

  private static HostTensor f32(float... values) {
    return HostTensor.of(values);
  }

  private static HostTensor bools(int... values) {
    var bytes = new byte[values.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return HostTensor.of(DType.BOOL, bytes, bytes.length);
  }

  private static void near(HostTensor actual, double... expected) {
    assertThat(actual.toFloats()).hasSize(expected.length);
    for (int i = 0; i < expected.length; i++) {
      assertThat(actual.toFloats()[i]).isCloseTo((float) expected[i], within(1e-3f));
    }
  }

  private void unary(
      String name,
      BiFunction<Operations<HostTensor>, Operand, HostTensor> call,
      DoubleUnaryOperator expected) {
    examples.put(
        name, o -> near(call.apply(o, X), expected.applyAsDouble(0.5), expected.applyAsDouble(2)));
  }

  private void ofOneOperand() {
    unary("abs", Operations::abs, Math::abs);
    unary("ceil", Operations::ceil, Math::ceil);
    unary("cos", Operations::cos, Math::cos);
    unary("elu", Operations::elu, x -> x);
    unary("erf", Operations::erf, x -> x < 1 ? 0.5205 : 0.99532);
    unary("exp", Operations::exp, Math::exp);
    unary("floor", Operations::floor, Math::floor);
    unary("hard-sigmoid", Operations::hardSigmoid, x -> x / 6 + 0.5);
    unary("hard-swish", Operations::hardSwish, x -> x * (x / 6 + 0.5));
    unary("leaky-relu", Operations::leakyRelu, x -> x);
    unary("log", Operations::log, Math::log);
    unary("mish", Operations::mish, x -> x * Math.tanh(Math.log1p(Math.exp(x))));
    unary("neg", Operations::neg, x -> -x);
    unary("reciprocal", Operations::reciprocal, x -> 1 / x);
    unary("round", Operations::round, Math::rint);
    unary("rsqrt", Operations::rsqrt, x -> 1 / Math.sqrt(x));
    unary("sign", Operations::sign, Math::signum);
    unary("sin", Operations::sin, Math::sin);
    unary("softplus", Operations::softplus, x -> Math.log1p(Math.exp(x)));
    unary("sqrt", Operations::sqrt, Math::sqrt);
    unary("square", Operations::square, x -> x * x);
  }

  private void ofTwoOperands() {
    examples.put("sub", o -> near(o.sub(A, B), 4, -10));
    examples.put("div", o -> near(o.div(A, B), 3, -7 / 3.0));
    examples.put("mod", o -> near(o.mod(A, B), 0, 2));
    examples.put("pow", o -> near(o.pow(B, X), Math.sqrt(2), 9));
    examples.put("maximum", o -> near(o.maximum(A, B), 6, 3));
    examples.put("minimum", o -> near(o.minimum(A, B), 2, -7));
    examples.put("where", o -> near(o.where(YES_NO, A, B), 6, 3));
  }

  private void comparison(
      String name, BiFunction<Operations<HostTensor>, HostTensor[], HostTensor> call, int... yes) {
    var expected = bools(yes).toBytes();
    examples.put(
        name,
        o ->
            assertThat(call.apply(o, new HostTensor[] {f32(1, 2), f32(1, 3)}).toBytes())
                .isEqualTo(expected));
  }

  private void comparisons() {
    comparison("equal", (o, x) -> o.equal(x[0], x[1]), 1, 0);
    comparison("not-equal", (o, x) -> o.notEqual(x[0], x[1]), 0, 1);
    comparison("less", (o, x) -> o.less(x[0], x[1]), 0, 1);
    comparison("less-equal", (o, x) -> o.lessEqual(x[0], x[1]), 1, 1);
    comparison("greater", (o, x) -> o.greater(x[0], x[1]), 0, 0);
    comparison("greater-equal", (o, x) -> o.greaterEqual(x[0], x[1]), 1, 0);
    comparison("and", (o, unused) -> o.and(YES_NO, YES_YES), 1, 0);
    comparison("or", (o, unused) -> o.or(YES_NO, YES_YES), 1, 1);
    comparison("xor", (o, unused) -> o.xor(YES_NO, YES_YES), 0, 1);
    comparison("not", (o, unused) -> o.not(YES_NO), 0, 1);
  }

  private void withAttributes() {
    examples.put("clamp", o -> near(o.clamp(A, -1, 2.5), 2.5, -1));
    examples.put(
        "map", o -> near(o.map(List.of(A, B), "x0 * c0 + x1", p -> p.constants(0.5)), 5, -0.5));
  }

  private void ranks() {
    examples.put("sort", o -> near(o.sort(MATRIX, p -> p.descending(true)), 2, 1, 4, 3));
    examples.put(
        "argsort", o -> assertThat(o.argsort(MATRIX).toLongs()).containsExactly(0, 1, 0, 1));
    examples.put(
        "top-k",
        o -> {
          var result = o.topK(MATRIX, 1);
          near(result.values(), 2, 4);
          assertThat(result.indices().toLongs()).containsExactly(1, 1);
        });
    examples.put(
        "search",
        o -> {
          var result = o.search(MATRIX, MATRIX, 1);
          near(result.scores(), 11, 25);
          assertThat(result.indices().toLongs()).containsExactly(1, 1);
        });
  }

  private void copies() {
    examples.put("permute", o -> near(o.permute(MATRIX), 1, 3, 2, 4));
    examples.put(
        "concat",
        o -> near(o.concat(List.of(MATRIX, MATRIX), p -> p.axis(1)), 1, 2, 1, 2, 3, 4, 3, 4));
    examples.put(
        "split",
        o -> {
          var parts = o.split(MATRIX, 2, p -> p.parts(2));
          near(parts.get(0), 1, 2);
          near(parts.get(1), 3, 4);
        });
    examples.put("slice", o -> near(o.slice(MATRIX, List.of(1L), List.of(2L)), 3, 4));
    examples.put("pad", o -> near(o.pad(MATRIX, p -> p.before(0, 1)), 0, 1, 2, 0, 3, 4));
    examples.put("tile", o -> near(o.tile(MATRIX, List.of(1L, 2L)), 1, 2, 1, 2, 3, 4, 3, 4));
    examples.put("expand", o -> near(o.expand(B, List.of(2L, 2L)), 2, 3, 2, 3));
    examples.put("roll", o -> near(o.roll(MATRIX, List.of(1L), p -> p.axes(1)), 2, 1, 4, 3));
    examples.put("flip", o -> near(o.flip(MATRIX, p -> p.axes(1)), 2, 1, 4, 3));
    examples.put("triangle", o -> near(o.triangle(MATRIX), 1, 0, 3, 4));
    var image = HostTensor.of(new float[] {1, 2, 3, 4}, 1, 4, 1, 1);
    examples.put("depth-to-space", o -> near(o.depthToSpace(image, 2), 1, 2, 3, 4));
    var pixels = HostTensor.of(new float[] {1, 2, 3, 4}, 1, 1, 2, 2);
    examples.put("space-to-depth", o -> near(o.spaceToDepth(pixels, 2), 1, 2, 3, 4));
  }

  private void byIndex() {
    var index = HostTensor.of(new int[] {1, 0}, 2, 1);
    var part = HostTensor.of(new float[] {5, 6}, 2, 1);
    examples.put(
        "copy",
        o ->
            near(
                o.copy(MATRIX, part, p -> p.at(HostTensor.of(new int[] {1}).reshape()).axis(1)),
                1,
                5,
                3,
                6));
    var cache = MATRIX.reshape(1, 1, 2, 2);
    var newest = part.reshape(1, 1, 1, 2);
    var lengths = HostTensor.of(new int[] {2}, 1);
    examples.put("cache-append", o -> near(o.cacheAppend(cache, newest, lengths), 1, 2, 5, 6));
    examples.put(
        "gather-elements", o -> near(o.gatherElements(MATRIX, index, p -> p.axis(1)), 2, 3));
    examples.put("gather-nd", o -> near(o.gatherNd(MATRIX, index), 3, 4, 1, 2));
    examples.put(
        "scatter-elements",
        o -> near(o.scatterElements(MATRIX, index, part, p -> p.axis(1)), 1, 5, 6, 4));
    examples.put("scatter-nd", o -> near(o.scatterNd(MATRIX, index, MATRIX), 3, 4, 1, 2));
    examples.put(
        "one-hot",
        o -> near(o.oneHot(index.reshape(2), HostTensor.of(new float[] {0, 1}), 2), 0, 1, 1, 0));
    examples.put(
        "compress",
        o -> {
          var result = o.compress(MATRIX, YES_NO);
          near(result.y(), 1, 2, 0, 0);
          assertThat(result.count().toLongs()).containsExactly(1);
        });
  }

  private void alongDimensions() {
    examples.put(
        "sample",
        o -> {
          var token = o.sample(MATRIX, HostTensor.of(new long[] {7}).reshape(), p -> p.topK(1));
          assertThat(token.toLongs()).containsExactly(1, 1);
        });
    examples.put("cumsum", o -> near(o.cumsum(MATRIX, p -> p.axis(0)), 1, 2, 4, 6));
    examples.put("cumprod", o -> near(o.cumprod(MATRIX, p -> p.reverse(true)), 2, 2, 12, 4));
    examples.put(
        "argmin",
        o -> assertThat(o.argmin(B, p -> p.outDtype(DType.I32)).toInts()).containsExactly(0));
  }
}
