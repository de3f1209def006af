package dev.athanor.ops.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RankTest {

  private static final double NAN = Double.NaN;
  private static final double INFINITY = Double.POSITIVE_INFINITY;

  private static HostTensor f32(double... x) {
    return HostTensor.of(TensorType.of(DType.F32, x.length), x);
  }

  private static double[] run(
      String op, HostTensor x, Map<String, Object> attributes, String output) {
    return Runner.run(Runner.op(op), Map.of("x", x), attributes, output).toDoubles();
  }

  @Test
  void equalElementsKeepTheirOrderInBothDirections() {
    var x = f32(2, 1, 2, -0.0, 0, 1);
    assertThat(run("argsort", x, Map.of(), "indices")).containsExactly(3, 4, 1, 5, 0, 2);
    assertThat(run("argsort", x, Map.of("descending", true), "indices"))
        .containsExactly(0, 2, 1, 5, 3, 4);
  }

  @Test
  void nanIsTheGreatestNumberAndZerosKeepTheirSigns() {
    var x = f32(0, NAN, -INFINITY, INFINITY, -0.0, NAN);
    assertThat(run("sort", x, Map.of(), "y"))
        .containsExactly(-INFINITY, 0, -0.0, INFINITY, NAN, NAN);
    assertThat(run("top-k", x, Map.of("k", 3), "indices")).containsExactly(1, 5, 3);
    assertThat(run("top-k", x, Map.of("k", 3, "largest", false), "indices"))
        .containsExactly(2, 0, 4);
  }

  @Test
  void ordersAllBitsOfLongs() {
    var x = HostTensor.zeros(TensorType.of(DType.I64, 4));
    long[] longs = {Long.MAX_VALUE, Long.MAX_VALUE - 1, Long.MIN_VALUE, Long.MIN_VALUE + 1};
    for (int i = 0; i < longs.length; i++) {
      DType.I64.writeLong(x.data(), i, longs[i]);
    }
    assertThat(run("argsort", x, Map.of(), "indices")).containsExactly(2, 3, 1, 0);
  }

  /** Lengths around those of chunks and of groups of merged runs, and every kind of pass. */
  @ParameterizedTest
  @ValueSource(ints = {1, 64, 65, 512, 513, 2048, 2049, 8192, 8193, 33_000})
  void everyLengthAndCountMatchesTheReference(int n) {
    var op = Runner.op("top-k");
    var x = new Draw(new Random(n)).integers(-n, n, TensorType.of(DType.I32, 2, n));
    for (int k : List.of(1, 50, 512, 513, 1024, 3000, n)) {
      if (k <= n) {
        var attributes = Attributes.of(op.description(), Map.of("k", k));
        Runner.check(op, Map.of("x", x), attributes, Tolerance.exact());
      }
    }
  }

  @Test
  void smallCountsTakeFewLaunches() {
    assertThat(launches("top-k", 50, 1, 1000)).isEqualTo(1);
    assertThat(launches("top-k", 50, 64, 128_256)).isEqualTo(3);
    assertThat(launches("top-k", 1, 64, 256_000)).isEqualTo(2);
    assertThat(launches("top-k", 1024, 64, 128_256)).isLessThanOrEqualTo(5);
    assertThat(launches("sort", 0, 1, 1 << 20)).isLessThanOrEqualTo(6);
  }

  private static int launches(String op, int k, long... extents) {
    Map<String, Object> attributes = k > 0 ? Map.of("k", k) : Map.of();
    var x = new TensorType(DType.F32, Shape.of(extents));
    var plan = Runner.plans(Runner.op(op), Map.of("x", x), attributes).getFirst();
    return ((LaunchPlan) plan).steps().size();
  }

  @Test
  void rejectsMoreElementsThanThereAre() {
    assertThatThrownBy(() -> launches("top-k", 9, 3, 8))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(
            "attribute \"k\" is 9 but dimension 1 of x [3, 8] has only 8 elements; k must be from 1 to 8");
  }
}
