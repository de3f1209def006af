package dev.athanor.ops.empty;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.move.Layout;
import dev.athanor.ops.move.PackedPlan;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Results of tensors without elements that a reader can check. */
class EmptyCasesTest {

  private static HostTensor tensor(String type, double... values) {
    return HostTensor.of(TensorType.parse(type), values);
  }

  private static double[] run(
      String op, String attributes, Map<String, HostTensor> inputs, String output) {
    var text = new StringBuilder(attributes);
    inputs.forEach((name, tensor) -> text.append(' ').append(name + "=" + tensor.type().text()));
    var plan = Problem.parse(Runner.op(op), text.toString()).plans(TestDevices.SMALL).getFirst();
    return Runner.run(plan, inputs, output).toDoubles();
  }

  @Test
  void productWithoutDepthIsTheEpilogueOfZero() {
    var inputs =
        Map.of(
            "a", tensor("f32[2,0]"), "b", tensor("f32[0,3]"), "bias", tensor("f32[3]", 1, -2, 3));
    assertThat(run("matmul", "activation=relu", inputs, "c")).containsExactly(1, 0, 3, 1, 0, 3);
  }

  @ParameterizedTest
  @CsvSource({
    "sum, f32, 0",
    "sum, i64, 0",
    "mean, f16, NaN",
    "prod, f32, 1",
    "prod, i32, 1",
    "any, bool, 0",
    "all, bool, 1",
    "l1, f32, 0",
    "l2, f32, 0",
    "sum-square, i32, 0",
    "log-sum, f32, -Infinity",
    "log-sum-exp, f32, -Infinity",
    "variance, f32, NaN",
    "std, bf16, NaN"
  })
  void reductionOfNothing(String kind, String dtype, double expected) {
    assertThat(run("reduce", "kind=" + kind, Map.of("x", tensor(dtype + "[2,0]")), "y"))
        .containsExactly(expected, expected);
    assertThat(run("reduce", "axes=0,2 kind=" + kind, Map.of("x", tensor(dtype + "[0,3,4]")), "y"))
        .containsOnly(expected)
        .hasSize(3);
  }

  @Test
  void maximumOfNothingIsRefused() {
    var problem = Problem.parse(Runner.op("reduce"), "x=f32[2,0] kind=max");
    assertThatThrownBy(() -> problem.plans(TestDevices.SMALL))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage(
            "input \"x\" has shape [2, 0], but reduce requires elements to compute its result;"
                + " every extent must be at least 1");
  }

  @Test
  void concatIgnoresEmptyInputs() {
    var inputs =
        Map.of("x0", tensor("f32[0,2]"), "x1", tensor("f32[1,2]", 4, 5), "x2", tensor("f32[0,2]"));
    assertThat(run("concat", "", inputs, "y")).containsExactly(4, 5);
  }

  @Test
  void padOfNothingIsConstant() {
    assertThat(run("pad", "before=1,0 after=1,0 value=7", Map.of("x", tensor("i32[0,2]")), "y"))
        .containsExactly(7, 7, 7, 7);
    assertThat(run("pad", "before=1,1 after=0,0 value=7", Map.of("x", tensor("i32[0,0]")), "y"))
        .containsExactly(7);
  }

  @Test
  void emptyUpdatesChangeNothing() {
    var into = tensor("f32[2,2]", 1, 2, 3, 4);
    assertThat(run("copy", "", Map.of("into", into, "x", tensor("f32[0,2]")), "y"))
        .containsExactly(1, 2, 3, 4);
    var scattered = Map.of("x", into, "index", tensor("i64[0,2]"), "updates", tensor("f32[0,2]"));
    assertThat(run("scatter-elements", "", scattered, "y")).containsExactly(1, 2, 3, 4);
  }

  @Test
  void partsMayBeEmpty() {
    var x = tensor("f32[3]", 1, 2, 3);
    assertThat(run("slice", "starts=2 ends=2", Map.of("x", x), "y")).isEmpty();
    assertThat(run("slice", "starts=2 ends=0", Map.of("x", x), "y")).isEmpty();
    assertThat(run("split", "sizes=0,3", Map.of("x", x), "y0")).isEmpty();
    assertThat(run("split", "sizes=0,3", Map.of("x", x), "y1")).containsExactly(1, 2, 3);
    assertThat(run("slice", "starts=5 ends=0 steps=-1", Map.of("x", tensor("f32[0]")), "y"))
        .isEmpty();
  }

  @Test
  void emptyTensorsBroadcast() {
    var inputs = Map.of("a", tensor("f32[0,1]"), "b", tensor("f32[3]", 1, 2, 3));
    var problem = new Problem(Runner.op("add"), HostTensor.types(inputs), none("add"));
    assertThat(problem.plans(TestDevices.SMALL).getFirst().outputs())
        .containsOnly(Map.entry("y", TensorType.of(DType.F32, 0, 3)));
  }

  private static Attributes none(String op) {
    return Attributes.of(Runner.op(op).description(), Map.of());
  }

  @Test
  void otherChecksStillApply() {
    var problem =
        new Problem(
            Runner.op("matmul"),
            Map.of("a", TensorType.of(DType.F32, 2, 0), "b", TensorType.of(DType.F32, 1, 3)),
            none("matmul"));
    assertThatThrownBy(() -> problem.plans(TestDevices.SMALL))
        .hasMessageContaining("K = 0")
        .hasMessageContaining("they must be equal");
  }

  @Test
  void viewsMayBeEmpty() {
    var type = TensorType.parse("f32[0,2]");
    var problem = new Problem(Runner.op("neg"), Map.of("x", type), none("neg"));
    var plan =
        new PackedPlan(
            problem.plans(TestDevices.SMALL).getFirst(),
            Map.of("x", type),
            Map.of("x", new Layout(List.of(1L, 4L), 0)),
            TestDevices.SMALL);
    assertThat(plan.workspaceBytes()).isZero();
    assertThat(Runner.run(plan, Map.of("x", tensor("f32[0,2]")), "y").toDoubles()).isEmpty();
  }
}
