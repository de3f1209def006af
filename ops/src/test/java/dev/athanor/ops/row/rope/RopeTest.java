package dev.athanor.ops.row.rope;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Properties of rotary embeddings. */
class RopeTest {

  private static final Op ROPE = Runner.op("rope");

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(ROPE.description(), given);
  }

  private static List<double[]> rotate(
      Map<String, HostTensor> inputs, Map<String, ?> given, Tolerance tolerance) {
    var all = new ArrayList<double[]>();
    for (var outputs : Runner.check(ROPE, inputs, attributes(given), tolerance)) {
      all.add(Objects.requireNonNull(outputs.get("y")).toDoubles());
    }
    return all;
  }

  private static HostTensor positions(int... positions) {
    var tensor = HostTensor.zeros(TensorType.of(DType.I32, positions.length));
    for (int i = 0; i < positions.length; i++) {
      DType.I32.writeLong(tensor.data(), i, positions[i]);
    }
    return tensor;
  }

  @ParameterizedTest
  @ValueSource(strings = {"half", "interleaved"})
  void positionZeroChangesNothing(String style) {
    var x = new Draw(new Random(1)).normal(DType.F16, 3, 2, 24);
    for (var y :
        rotate(
            Map.of("x", x, "positions", positions(0, 0, 0)),
            Map.of("theta", 10_000, "style", style, "rotaryDim", 16),
            Tolerance.exact())) {
      assertThat(y).isEqualTo(x.toDoubles());
    }
  }

  /** The dot product of a rotated query and a rotated key depends only on their distance. */
  @ParameterizedTest
  @ValueSource(strings = {"half", "interleaved"})
  void dotProductsDependOnTheDistance(String style) {
    int d = 64;
    var pair = new Draw(new Random(2)).normal(DType.F32, 1, 2, d);
    var x = HostTensor.zeros(TensorType.of(DType.F32, 4, 1, d));
    for (int i = 0; i < d; i++) {
      for (int copy = 0; copy < 2; copy++) {
        DType.F32.write(x.data(), 2L * copy * d + i, pair.get(i));
        DType.F32.write(x.data(), (2L * copy + 1) * d + i, pair.get(d + i));
      }
    }
    for (var y :
        rotate(
            Map.of("x", x, "positions", positions(7, 3, 100_007, 100_003)),
            Map.of("theta", 10_000, "style", style),
            Tolerance.maximum(1e-5))) {
      assertThat(dot(y, 2 * d, 3 * d, d)).isCloseTo(dot(y, 0, d, d), within(1e-4));
      assertThat(dot(y, 0, 0, d)).isCloseTo(dot(pair.toDoubles(), 0, 0, d), within(1e-4));
    }
  }

  private static double dot(double[] y, int a, int b, int d) {
    double sum = 0;
    for (int i = 0; i < d; i++) {
      sum += y[a + i] * y[b + i];
    }
    return sum;
  }

  /** The styles differ only in the positions of the elements of a pair. */
  @Test
  void stylesArePermutationsOfEachOther() {
    var x = new Draw(new Random(3)).normal(DType.F32, 5, 2, 12);
    var other = HostTensor.zeros(x.type());
    for (int i = 0; i < 120; i++) {
      DType.F32.write(other.data(), interleaved(i, 12), x.get(i));
    }
    var half = rotate(Map.of("x", x), Map.of("theta", 100), Tolerance.maximum(1e-5));
    var pairs =
        rotate(
            Map.of("x", other),
            Map.of("theta", 100, "style", "interleaved"),
            Tolerance.maximum(1e-5));
    for (int i = 0; i < 120; i++) {
      assertThat(pairs.getFirst()[interleaved(i, 12)]).isEqualTo(half.getFirst()[i]);
    }
  }

  private static int interleaved(int i, int d) {
    int within = i % d;
    return i - within + (within < d / 2 ? 2 * within : 2 * (within - d / 2) + 1);
  }

  @Test
  void tablesMatchTheta() {
    var x = new Draw(new Random(4)).normal(DType.F32, 2, 6, 3, 16);
    var cos = HostTensor.zeros(TensorType.of(DType.F32, 9, 8));
    var sin = HostTensor.zeros(TensorType.of(DType.F32, 9, 8));
    for (int p = 0; p < 9; p++) {
      for (int i = 0; i < 8; i++) {
        double angle = p * Math.pow(1000, -2.0 * i / 16);
        DType.F32.write(cos.data(), 8L * p + i, Math.cos(angle));
        DType.F32.write(sin.data(), 8L * p + i, Math.sin(angle));
      }
    }
    var inputs = new HashMap<>(Map.of("x", x, "cos", cos, "sin", sin));
    var given = rotate(inputs, Map.of(), Tolerance.maximum(1e-5)).getFirst();
    var made = rotate(Map.of("x", x), Map.of("theta", 1000), Tolerance.maximum(1e-5)).getFirst();
    assertThat(Tolerance.maximum(1e-6).error(given, made)).isLessThan(1e-6);
    inputs.put("positions", positions(8, 0, 3, 3, 1, 7));
    rotate(inputs, Map.of(), Tolerance.maximum(1e-5));
  }

  /** Angles near multiples of a quarter turn, and extreme positions. */
  @Test
  void anglesAreAccurate() {
    var numbers = new int[400];
    for (int i = 0; i < 200; i++) {
      numbers[i] = i;
      numbers[200 + i] = i < 100 ? 1_000_000 - i : -355 * i;
    }
    checkUnitVectors(numbers, 1e-7);
    // f64 has no more digits at these angles
    checkUnitVectors(new int[] {Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 30}, 1e-6);
  }

  /** Rotates (1, 0), which yields a cosine and a sine. */
  private static void checkUnitVectors(int[] positions, double limit) {
    var x = HostTensor.zeros(TensorType.of(DType.F32, positions.length, 1, 4));
    for (int i = 0; i < positions.length; i++) {
      DType.F32.write(x.data(), 4L * i, 1);
      DType.F32.write(x.data(), 4L * i + 1, 1);
    }
    rotate(
        Map.of("x", x, "positions", positions(positions)),
        Map.of("theta", 10_000),
        Tolerance.maximum(limit));
  }

  @Test
  void normalizesBeforeRotating() {
    var op = Runner.op("rms-norm-rope");
    var draw = new Draw(new Random(5));
    var cos = HostTensor.of(TensorType.of(DType.F32, 1, 2), 0, 1);
    var sin = HostTensor.of(TensorType.of(DType.F32, 1, 2), 1, 0);
    var x = draw.normal(0, 100, TensorType.of(DType.F32, 1, 8));
    var weight = HostTensor.of(TensorType.of(DType.F32, 8), 1, 2, 3, 4, 5, 6, 7, 8);
    double squares = 0;
    for (double each : x.toDoubles()) {
      squares += each * each / 8;
    }
    for (var outputs :
        Runner.check(
            op,
            Map.of("x", x, "weight", weight, "cos", cos, "sin", sin),
            Attributes.of(op.description(), Map.of("heads", 2, "epsilon", 0)),
            Tolerance.maximum(1e-5))) {
      var y = Objects.requireNonNull(outputs.get("y"));
      double scale = 1 / Math.sqrt(squares);
      // (x0, x2) are rotated by a quarter turn, (x1, x3) are not rotated
      assertThat(y.get(0)).isCloseTo(-3 * x.get(2) * scale, within(1e-5));
      assertThat(y.get(2)).isCloseTo(x.get(0) * scale, within(1e-5));
      assertThat(y.get(7)).isCloseTo(8 * x.get(7) * scale, within(1e-5));
    }
  }
}
