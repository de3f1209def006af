package dev.athanor.ops.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReduceTest {

  private static double reduce(String kind, double... x) {
    var tensor = HostTensor.of(TensorType.of(DType.F32, x.length), x);
    return Runner.run(Runner.op("reduce"), Map.of("x", tensor), Map.of("kind", kind), "y").get(0);
  }

  private static double argmax(double... x) {
    var tensor = HostTensor.of(TensorType.of(DType.F32, x.length), x);
    return Runner.run(Runner.op("argmax"), Map.of("x", tensor), Map.of(), "y").get(0);
  }

  /** Lengths below a warp, of two-dimensional blocks such as 10x10, and of whole blocks. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 8, 15, 16, 32, 64, 100, 128, 256, 512})
  void reducesEveryLength(int n) {
    var count = IntStream.range(0, n).asDoubleStream().toArray();
    assertThat(reduce("sum", count)).isEqualTo(n * (n - 1) / 2.0);
    assertThat(reduce("mean", count)).isEqualTo((n - 1) / 2.0);
    assertThat(reduce("min", Arrays.stream(count).map(i -> i - 50).toArray())).isEqualTo(-50);
    assertThat(reduce("max", count)).isEqualTo(n - 1);
    assertThat(argmax(count)).isEqualTo(n - 1);
    int hottest = n * 17 / 32;
    var hot = new double[n];
    hot[hottest] = 1;
    assertThat(argmax(hot)).isEqualTo(hottest);
    var signs = IntStream.range(0, n).mapToDouble(i -> i % 2 == 0 ? 1 : -1).toArray();
    assertThat(reduce("sum", signs)).isEqualTo(n % 2);
  }

  /** Sums in f32 are compensated for rounding errors. */
  @Test
  void sumsThatCancelAreAccurate() {
    var x = new double[300];
    Arrays.fill(x, 1);
    x[0] = 1e8;
    x[299] = -1e8;
    assertThat(reduce("sum", x)).isEqualTo(298);
  }

  @Test
  void propagatesInfinitiesAndNans() {
    double infinity = Double.POSITIVE_INFINITY;
    assertThat(reduce("sum", 1, infinity, 2)).isEqualTo(infinity);
    assertThat(reduce("sum", infinity, -infinity)).isNaN();
    assertThat(reduce("mean", -infinity, 5)).isEqualTo(-infinity);
    assertThat(reduce("max", 1, Double.NaN, 2)).isNaN();
    assertThat(reduce("min", Double.NaN, -infinity)).isNaN();
    assertThat(reduce("max", -infinity, -infinity)).isEqualTo(-infinity);
  }

  @Test
  void argmaxReturnsTheFirstOfEqualNumbers() {
    double infinity = Double.POSITIVE_INFINITY;
    assertThat(argmax(3, 7, 7, 1)).isEqualTo(1);
    assertThat(argmax(-0.0, 0.0)).isZero();
    assertThat(argmax(-infinity, -infinity, -infinity)).isZero();
    assertThat(argmax(1, Double.NaN, infinity, Double.NaN)).isEqualTo(1);
    var equal = new double[1000];
    equal[300] = 2;
    equal[299] = 2;
    equal[999] = 2;
    assertThat(argmax(equal)).isEqualTo(299);
  }

  /** Results do not depend on how a row is split, or on the run. */
  @Test
  void allPlansAreBitIdentical() {
    var x = new Draw(new Random(3)).normal(DType.F32, 4, 4100);
    var plans = Runner.plans(Runner.op("reduce"), Map.of("x", x.type()), Map.of());
    assertThat(plans.stream().map(Plan::kernel).toList())
        .containsExactlyInAnyOrder(
            "reduce_sum_f32_warp_v4",
            "reduce_sum_f32_block_v4",
            "reduce_sum_f32_block_to_v4_split5");
    var first = Runner.run(plans.getFirst(), Map.of("x", x), "y");
    for (var plan : plans) {
      for (int repeat = 0; repeat < 2; repeat++) {
        assertThat(Runner.run(plan, Map.of("x", x), "y").data().mismatch(first.data()))
            .as(plan.kernel())
            .isEqualTo(-1);
      }
    }
  }

  @Test
  void splitsLongRowsToFillTheDevice() {
    assertThat(kernel(1, 1 << 24)).startsWith("reduce_sum_f32_block_to_v4_split");
    assertThat(kernel(4096, 16_384)).isIn("reduce_sum_f32_block_v4", "reduce_sum_f32_warp_v4");
    assertThat(kernel(1 << 20, 64)).isEqualTo("reduce_sum_f32_warp_v4");
    var tall =
        Runner.plans(
            Runner.op("reduce"),
            Map.of("x", TensorType.of(DType.F16, 1 << 20, 64)),
            Map.of("axis", 0));
    assertThat(tall.getFirst().kernel()).startsWith("reduce_sum_f16_columns_to_v8_split");
    assertThat(tall.getFirst().workspaceBytes()).isPositive();
  }

  private static String kernel(long rows, long n) {
    var plans =
        Runner.plans(Runner.op("reduce"), Map.of("x", TensorType.of(DType.F32, rows, n)), Map.of());
    return plans.getFirst().kernel();
  }

  @Test
  void reducesAnyDimension() {
    var x = HostTensor.of(TensorType.of(DType.F64, 2, 3, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    for (var axis : List.of(1, -2)) {
      var y =
          Runner.run(Runner.op("reduce"), Map.of("x", x), Map.of("axis", axis, "kind", "max"), "y");
      assertThat(y.type()).isEqualTo(TensorType.of(DType.F64, 2, 2));
      assertThat(y.toDoubles()).containsExactly(5, 6, 11, 12);
    }
    var indices =
        Runner.run(Runner.op("argmax"), Map.of("x", x), Map.of("axis", 0, "outDtype", "i32"), "y");
    assertThat(indices.type()).isEqualTo(TensorType.of(DType.I32, 3, 2));
    assertThat(indices.toDoubles()).containsOnly(1);
  }

  private static HostTensor run(String op, HostTensor x, Map<String, ?> attributes) {
    return Runner.run(Runner.op(op), Map.of("x", x), attributes, "y");
  }

  @Test
  void reducesSeveralDimensions() {
    var x = HostTensor.of(TensorType.of(DType.F64, 2, 3, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    var y = run("reduce", x, Map.of("axes", List.of(-1, 0)));
    assertThat(y.type()).isEqualTo(TensorType.of(DType.F64, 3));
    assertThat(y.toDoubles()).containsExactly(18, 26, 34);
    var kept = run("reduce", x, Map.of("axes", "0,2", "keepdims", true, "kind", "prod"));
    assertThat(kept.type()).isEqualTo(TensorType.of(DType.F64, 1, 3, 1));
    assertThat(kept.toDoubles()).containsExactly(112, 1080, 3960);
    var all = run("reduce", x, Map.of("axes", List.of()));
    assertThat(all.type()).isEqualTo(TensorType.of(DType.F64));
    assertThat(all.get(0)).isEqualTo(78);
  }

  /** The longest dimension is reduced first, and many remaining states are split again. */
  @Test
  void launchesOneKernelForEachGroupOfDimensions() {
    var plans =
        Runner.plans(
            Runner.op("reduce"),
            Map.of("x", TensorType.of(DType.F32, 4096, 64, 4096)),
            Map.of("axes", List.of(0, 2)));
    var steps = ((LaunchPlan) plans.getFirst()).steps();
    assertThat(steps.stream().map(step -> step.variant().name()).toList())
        .startsWith("reduce_sum_f32_columns_to_v4")
        .contains("reduce_sum_f32_warp_from_to_v1")
        .endsWith("reduce_sum_f32_warp_from_v1");
  }

  @Test
  void computesMomentsOfNumbersFarFromZero() {
    assertThat(reduce("variance", 10_000, 10_001, 10_002, 10_003)).isEqualTo(1.25);
    assertThat(reduce("std", 1e30, 1e30, -1e30)).isInfinite();
    assertThat(reduce("variance", 1, Double.POSITIVE_INFINITY)).isNaN();
    var x = HostTensor.of(TensorType.of(DType.F32, 4), 1, 2, 3, 6);
    var sample = run("reduce", x, Map.of("kind", "variance", "correction", 1));
    assertThat(sample.get(0)).isCloseTo(14.0 / 3, within(1e-6));
    var tooFew = run("reduce", x, Map.of("kind", "variance", "correction", 4));
    assertThat(tooFew.get(0)).isInfinite();
  }

  @Test
  void logarithmsOfSumsDoNotOverflow() {
    double infinity = Double.POSITIVE_INFINITY;
    assertThat(reduce("log-sum-exp", 1000, 1000)).isCloseTo(1000 + Math.log(2), within(1e-4));
    assertThat(reduce("log-sum-exp", -infinity, -infinity)).isEqualTo(-infinity);
    assertThat(reduce("log-sum-exp", 5, infinity, infinity)).isEqualTo(infinity);
    assertThat(reduce("log-sum-exp", infinity, Double.NaN)).isNaN();
    assertThat(reduce("log-sum", 1, 2, 4)).isCloseTo(Math.log(7), within(1e-6));
    assertThat(reduce("l1", 1, -2, 4)).isEqualTo(7);
    assertThat(reduce("l2", 3, -4)).isEqualTo(5);
    assertThat(reduce("sum-square", 3, -4)).isEqualTo(25);
  }

  @Test
  void integersWrapAndAreExact() {
    var ints = HostTensor.of(TensorType.of(DType.I32, 2), Integer.MAX_VALUE, 2);
    assertThat(run("reduce", ints, Map.of()).get(0)).isEqualTo(Integer.MIN_VALUE + 1);
    assertThat(run("reduce", ints, Map.of("kind", "prod")).get(0)).isEqualTo(-2);
    var longs = HostTensor.of(TensorType.of(DType.I64, 2), 0x1p53, 1);
    var sum = run("reduce", longs, Map.of());
    assertThat(DType.I64.readLong(sum.data(), 0)).isEqualTo((1L << 53) + 1);
    var bytes = HostTensor.of(TensorType.of(DType.U8, 3), 3, 200, 7);
    assertThat(run("reduce", bytes, Map.of("kind", "max")).get(0)).isEqualTo(200);
    var bools = HostTensor.of(TensorType.of(DType.BOOL, 3), 0, 1, 0);
    assertThat(run("reduce", bools, Map.of("kind", "any")).get(0)).isEqualTo(1);
    assertThat(run("reduce", bools, Map.of("kind", "all")).get(0)).isEqualTo(0);
  }

  @Test
  void findsTheFirstOrLastOfEqualNumbers() {
    var x = HostTensor.of(TensorType.of(DType.I8, 1, 5), 3, -7, 3, -7, 0);
    var last = Map.of("selectLast", true, "keepdims", true);
    assertThat(run("argmax", x, last).type()).isEqualTo(TensorType.of(DType.I64, 1, 1));
    assertThat(run("argmax", x, last).get(0)).isEqualTo(2);
    assertThat(run("argmin", x, last).get(0)).isEqualTo(3);
    assertThat(run("argmin", x, Map.of()).get(0)).isEqualTo(1);
    var equal = HostTensor.of(TensorType.of(DType.F32, 1, 300), new double[300]);
    assertThat(run("argmin", equal, last).get(0)).isEqualTo(299);
    double infinity = Double.NEGATIVE_INFINITY;
    var infinite = HostTensor.of(TensorType.of(DType.F32, 3), infinity, infinity, infinity);
    assertThat(run("argmax", infinite, last).get(0)).isEqualTo(2);
  }

  @Test
  void refusesContradictoryCalls() {
    var x = HostTensor.of(TensorType.of(DType.I32, 1, 2), 1, 2);
    assertThatThrownBy(() -> run("reduce", x, Map.of("axis", 1, "axes", "0,1")))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(
            "attribute \"axes\" is [0, 1] but \"axis\" is also given, as 1; give only one of them");
    assertThatThrownBy(() -> run("reduce", x, Map.of("axes", "1,-1")))
        .hasMessage(
            "attribute \"axes\" is [1, -1], which names dimension 1 of x twice; name each at most once");
    assertThatThrownBy(() -> run("reduce", x, Map.of("kind", "mean")))
        .isInstanceOf(OpException.UnsupportedDType.class)
        .hasMessage("input \"x\" is i32; mean supports f64, f32, f16, bf16; cast x first");
  }
}
