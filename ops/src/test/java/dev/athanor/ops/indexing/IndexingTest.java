package dev.athanor.ops.indexing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares gather, scatter, one-hot and compress with the examples of the ONNX operators. */
class IndexingTest {

  private static double[] numbers(String text) {
    return Stream.of(text.strip().split(" ", -1)).mapToDouble(Double::parseDouble).toArray();
  }

  /** The numbers of the inputs are in the order of the problem. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gather | table=f32[3,2] index=i64[2,2] | 1 1.5 2 3 4 5, 0 1 1 2" + " | 1 1.5 2 3 2 3 4 5",
        "gather | table=f32[3,3] index=i64[1,2] axis=1 | 1 1.5 1.75 2 2.5 2.75 3 3.5 3.75, 0 2"
            + " | 1 1.75 2 2.75 3 3.75",
        "gather | table=i8[10] index=i32[4] | 0 1 2 3 4 5 6 7 8 9, 0 -9 -10 -11 | 0 1 0 0",
        "gather | table=f16[2,3,2] index=i64[] axis=1 | 0 1 2 3 4 5 6 7 8 9 10 11, -1 | 4 5 10 11",
        "gather | table=i32[2,2] index=i32[3] | 1 2 3 4, -1 1 2 | 0 0 3 4 0 0",
        "gather-elements | x=f32[2,2] index=i64[2,2] axis=1 | 1 2 3 4, 0 0 1 0 | 1 1 4 3",
        "gather-elements | x=i8[3,3] index=i32[2,3] | 1 2 3 4 5 6 7 8 9, -1 -2 0 -2 0 0 | 7 5 3 4 2 3",
        "gather-elements | x=f16[3] index=i32[4] | 5 6 7, 3 -3 -4 2 | 0 5 0 7",
        "gather-nd | x=i32[2,2] index=i64[2,2] | 0 1 2 3, 0 0 1 1 | 0 3",
        "gather-nd | x=i32[2,2] index=i64[2,1] | 0 1 2 3, 1 0 | 2 3 0 1",
        "gather-nd | x=i32[2,2,2] index=i64[2,1] batchDims=1 | 0 1 2 3 4 5 6 7, 1 0 | 2 3 4 5",
        "gather-nd | x=i32[2,2] index=i32[3,2] | 4 5 6 7, -1 -2 2 0 0 -3 | 6 0 0",
        "scatter-elements | x=f32[3,3] index=i32[2,3] updates=f32[2,3] | 0 0 0 0 0 0 0 0 0,"
            + " 1 0 2 0 2 1, 1 2 3 4 5 6 | 4 2 0 1 0 6 0 5 3",
        "scatter-elements | x=f64[1,5] index=i32[1,2] updates=f64[1,2] axis=1 | 1 2 3 4 5, 1 -2, 11 21"
            + " | 1 11 3 21 5",
        "scatter-elements | x=f32[1,5] index=i32[1,2] updates=f32[1,2] axis=1 reduction=add | 1 2 3 4 5,"
            + " 1 1, 11 21 | 1 34 3 4 5",
        "scatter-elements | x=u8[2] index=i64[2] updates=u8[2] reduction=add | 200 1, 0 -2, 50 50"
            + " | 44 1",
        "scatter-elements | x=i16[2] index=i64[3] updates=i16[3] reduction=mul | 300 2, 0 1 0, 300 3 7"
            + " | -25360 6",
        "scatter-elements | x=u32[2] index=i64[2] updates=u32[2] reduction=max | 1 2, 0 1,"
            + " 4294967295 1 | 4294967295 2",
        "scatter-elements | x=f32[3] index=i64[3] updates=f32[3] reduction=min | 1 NaN 3, 0 1 2, NaN 1 2"
            + " | NaN NaN 2",
        "scatter-nd | x=i64[8] index=i64[4,1] updates=i64[4] | 1 2 3 4 5 6 7 8, 4 3 1 7, 9 10 11 12"
            + " | 1 11 3 10 9 6 7 12",
        "scatter-nd | x=bool[2,2] index=i32[3,1] updates=bool[3,2] | 0 0 0 0, 2 -1 -3, 1 1 1 0 1 1"
            + " | 0 0 1 0",
        "one-hot | index=i32[3] values=f16[2] depth=4 | 0 -1 4, 1 3 | 3 1 1 1 1 1 1 3 1 1 1 1",
        "one-hot | index=i64[2] values=bool[2] depth=3 axis=0 | 2 1, 0 1 | 0 0 0 1 1 0",
        "compress | x=f32[3,2] condition=bool[3] | 1 2 3 4 5 6, 0 1 1 | 3 4 5 6 0 0",
        "compress | x=f32[3,2] condition=bool[2] axis=1 | 1 2 3 4 5 6, 0 1 | 2 0 4 0 6 0",
        "compress | x=i8[3,2] condition=bool[2] axis=-2 | 1 2 3 4 5 6, 0 1 | 3 4 0 0 0 0"
      })
  void matchesOnnx(String op, String text, String given, String expected) {
    var problem = Problem.parse(Runner.op(op), text);
    var inputs = new LinkedHashMap<String, HostTensor>();
    var parts = given.split(",", -1);
    for (var input : problem.op().description().inputs()) {
      var type = Objects.requireNonNull(problem.inputs().get(input.name()));
      inputs.put(input.name(), HostTensor.of(type, numbers(parts[inputs.size()])));
    }
    assertThat(Runner.run(problem.op(), inputs, problem.attributes().values(), "y").toDoubles())
        .containsExactly(numbers(expected));
  }

  /** The true elements fill several chunks of the prefix sum, the last one partly. */
  @Test
  void countsSelectedSlices() {
    int n = 20_001;
    var condition = IntStream.range(0, n).mapToDouble(i -> i % 3 == 0 ? 1 : 0).toArray();
    var x = IntStream.range(0, n).asDoubleStream().toArray();
    var inputs =
        Map.of(
            "x", HostTensor.of(TensorType.of(DType.I32, n), x),
            "condition", HostTensor.of(TensorType.of(DType.BOOL, n), condition));
    var compress = Runner.op("compress");
    assertThat(Runner.run(compress, inputs, Map.of(), "count").toDoubles()).containsExactly(6667);
    assertThat(Runner.run(compress, inputs, Map.of(), "y").toDoubles())
        .containsExactly(IntStream.range(0, n).mapToDouble(i -> 3 * i < n ? 3 * i : 0).toArray());
  }

  /** Returns x after updates that all name element 1 of three. */
  private static double scattered(DType dtype, String reduction, double x, double[] updates) {
    int n = updates.length;
    var index = new double[n];
    Arrays.fill(index, 1);
    var inputs =
        Map.of(
            "x", HostTensor.of(TensorType.of(dtype, 3), 7, x, 9),
            "index", HostTensor.of(TensorType.of(DType.I32, n, 1), index),
            "updates", HostTensor.of(TensorType.of(dtype, n), updates));
    var y = Runner.run(Runner.op("scatter-nd"), inputs, Map.of("reduction", reduction), "y");
    assertThat(y.get(0)).isEqualTo(7);
    assertThat(y.get(2)).isEqualTo(9);
    return y.get(1);
  }

  /** The updates fill several runs of the merge sort, the last one partly. */
  @Test
  void appliesUpdatesOfOneElementInTheOrderOfTheIndex() {
    var counted = IntStream.rangeClosed(1, 1100).asDoubleStream().toArray();
    assertThat(scattered(DType.I32, "none", 0, counted)).isEqualTo(1100);
    // in f32, 2^24 + 1 rounds to 2^24; in any other order some ones would be added first
    var ones = new double[1100];
    Arrays.fill(ones, 1);
    ones[0] = 1 << 24;
    assertThat(scattered(DType.F32, "add", 0, ones)).isEqualTo(1 << 24);
  }

  @Test
  void roundsSmallFloatsOnce() {
    var ones = new double[600];
    Arrays.fill(ones, 1);
    // in f16, 2048 + 1 rounds to 2048
    assertThat(scattered(DType.F16, "add", 2048, ones)).isEqualTo(2648);
  }

  /** A million updates take a copy, the sort of runs, 12 merges and the write. */
  @Test
  void mergesInALogarithmicNumberOfLaunches() {
    var problem =
        Problem.parse(
            Runner.op("scatter-elements"),
            "x=f32[64] index=i32[1048576] updates=f32[1048576] reduction=add");
    var plan =
        Runner.plans(problem.op(), problem.inputs(), problem.attributes().values()).getFirst();
    assertThat(plan.explain()).contains("15 launches for 1048576 updates of 1 elements");
    assertThat(plan.workspaceBytes()).isEqualTo(1 << 24);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gather-elements | x=f32[2,3] index=i32[3,3] axis=1 | index has shape [3, 3] but x has [2, 3];"
            + " index must have as many dimensions, and no greater extents except in dimension 1",
        "gather-nd | x=f32[2,3] index=i32[4,3] | index has shape [4, 3]; its last extent must be at"
            + " most 2, the dimensions of x [2, 3]",
        "gather-nd | x=f32[2,3] index=i32[3,1] batchDims=1 | index has shape [3, 1] and x has [2, 3];"
            + " with \"batchDims\" 1 both need at least 2 dimensions, of which the first 1 must be"
            + " equal",
        "gather-nd | x=f32[] index=i32[1] | index has shape [1] and x has []; neither may be a scalar",
        "scatter-nd | x=f32[2,3] index=i32[4,1] updates=f32[4,2] | updates has shape [4, 2]; with x"
            + " [2, 3] and index [4, 1] it must be [4, 3]",
        "scatter-nd | x=u8[4] index=i32[1073741825,1] updates=u8[1073741825] | index has shape"
            + " [1073741825, 1] with 1073741825 positions; the maximum is 2^30",
        "scatter-elements | x=bool[4] index=i32[1] updates=bool[1] reduction=max | x is bool, which has"
            + " no reduction \"max\"; use reduction \"none\", or cast x to u8",
        "scatter-elements | x=f32[4] index=i32[1] updates=f16[1] | updates is f16 but x is f32; they"
            + " must be the same",
        "compress | x=f32[3,4] condition=bool[5] axis=1 | condition has shape [5] but x has [3, 4];"
            + " condition must be [M] with M at most 4, the extent of x in dimension 1",
        "compress | x=f32[4] condition=bool[2,2] | condition has shape [2, 2] but x has [4];"
            + " condition must be [M] with M at most 4, the extent of x in dimension 0",
        "compress | x=u8[1073741825] condition=bool[1073741825] | condition has shape [1073741825];"
            + " the maximum is 2^30 elements",
        "one-hot | index=i32[3] values=f32[2] depth=4 axis=2 | attribute \"axis\" is 2 but index has"
            + " shape [3]; the dimensions of y are -2 to 1",
        "one-hot | index=i32[3] values=f32[2] depth=1000000000 | output \"y\" would have shape"
            + " [3, 1000000000]; the maximum is 2^31 - 1025 elements"
      })
  void namesWhatWouldBeRight(String op, String text, String message) {
    var problem = Problem.parse(Runner.op(op), text);
    assertThatThrownBy(
            () -> Runner.plans(problem.op(), problem.inputs(), problem.attributes().values()))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }
}
