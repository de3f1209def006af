package dev.athanor.ops.row;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Choice of row kernels, and rejected problems. */
class RowPlannerTest {

  private static Plan plan(String name, Map<String, ?> attributes, Map<String, TensorType> inputs) {
    var op = Runner.op(name);
    return op.plan(inputs, Attributes.of(op.description(), attributes), TestDevices.H200);
  }

  @ParameterizedTest
  @CsvSource({
    // few threads for a short row, many for a long one, no more than can be used
    "F32, 100000, 1, softmax_f32_t8_v1x1",
    "F32, 100000, 64, softmax_f32_t8_v4x2",
    "F32, 100000, 1024, softmax_f32_t32_v4x8",
    "F32, 100000, 4096, softmax_f32_t128_v4x8",
    "F16, 100000, 4096, softmax_f16_t128_v8x4",
    "BF16, 100000, 32768, softmax_bf16_t512_v8x8",
    "F32, 1, 4096, softmax_f32_t512_v4x2",
    // accesses as wide as the alignment of rows allows
    "F16, 100000, 1000, softmax_f16_t32_v8x4",
    "F16, 100000, 1004, softmax_f16_t32_v4x8",
    "F16, 100000, 1002, softmax_f16_t32_v2x16",
    "F16, 100000, 1001, softmax_f16_t32_v1x32",
    "F32, 100000, 1002, softmax_f32_t32_v2x16",
    // numbers of f64 and their exponentials take more registers
    "F64, 100000, 4096, softmax_f64_t512_v2x4",
    // a row that no team can hold
    "F32, 1000, 32772, softmax_f32_t512_v4x4_steps",
    "F64, 1000, 8194, softmax_f64_t512_v2x2_steps"
  })
  void choosesKernels(DType dtype, long rows, long n, String kernel) {
    var plan = plan("softmax", Map.of(), Map.of("x", TensorType.of(dtype, rows, n)));
    assertThat(plan.kernel()).isEqualTo(kernel);
    assertThat(plan.cost().bytes()).isEqualTo(2.0 * rows * n * dtype.bytes());
    assertThat(plan.cost().flops()).isEqualTo(5.0 * rows * n);
  }

  @ParameterizedTest
  @CsvSource({
    "F64, softmax_partial_sums_f64_t128_v2x1, softmax_split_f64_t128_v2x1, 501",
    "F32, softmax_partial_sums_f32_t128_v4x1, softmax_split_f32_t128_v4x1, 251",
    "BF16, softmax_partial_sums_bf16_t128_v8x1, softmax_split_bf16_t128_v8x1, 126",
    "F16, softmax_partial_sums_f16_t128_v8x1, softmax_split_f16_t128_v8x1, 126"
  })
  void splitsLongRowsToFillTheDevice(DType dtype, String first, String second, int blocks) {
    var plan =
        (LaunchPlan) plan("softmax", Map.of(), Map.of("x", TensorType.of(dtype, 1, 128_256)));
    assertThat(plan.kernel()).isEqualTo(second);
    assertThat(plan.steps())
        .extracting(step -> step.variant().name())
        .containsExactly(first, second);
    assertThat(plan.steps()).extracting(Step::grid).containsOnly(Dim3.of(blocks, 1));
    assertThat(plan.workspaceBytes()).isEqualTo(2L * Math.max(4, dtype.bytes()) * blocks);
    assertThat(plan.explain()).contains("rows split into %d parts, two launches".formatted(blocks));
  }

  /** Rows that fit in a block, and enough rows to fill the device. */
  @ParameterizedTest
  @CsvSource({"4096, 4096", "1, 32768", "67, 128256"})
  void otherRowsNeedOneLaunch(long rows, long n) {
    var inputs = Map.of("x", TensorType.of(DType.F32, rows, n));
    for (var plan : Runner.plans(Runner.op("softmax"), inputs, Map.of())) {
      assertThat(((LaunchPlan) plan).steps()).as(plan.kernel()).hasSize(1);
    }
  }

  /** Each thread has as many values, up to 16, as needed to keep all blocks resident. */
  @ParameterizedTest
  @CsvSource({"8, softmax_split_f32_t128_v4x2", "66, softmax_split_f32_t128_v4x4"})
  void moreRowsHaveFewerParts(long rows, String kernel) {
    var plan = plan("softmax", Map.of(), Map.of("x", TensorType.of(DType.F32, rows, 128_256)));
    assertThat(plan.kernel()).isEqualTo(kernel);
  }

  @Test
  void explainsTheChoice() {
    var plan = plan("softmax", Map.of(), Map.of("x", TensorType.of(DType.F32, 4096, 1024)));
    assertThat(plan.explain())
        .startsWith(plan.kernel())
        .containsPattern(
            "\\* softmax_f32_t32_v4x8: about [0-9.]+ us, 1024 blocks, 8 per multiprocessor")
        .containsPattern("  softmax_f32_t128_v4x2: about [0-9.]+ us, 4096 blocks");
    assertThat(plan.requiredSharedMemory()).isZero();
  }

  @Test
  void equalProblemsHaveEqualPlans() {
    var inputs = Map.of("x", TensorType.of(DType.F32, 5, 6), "gamma", TensorType.of(DType.F32, 6));
    assertThat(plan("rms-norm", Map.of(), inputs)).isEqualTo(plan("rms-norm", Map.of(), inputs));
  }

  @Test
  void rejectsOldDevices() {
    var op = Runner.op("softmax");
    assertThatThrownBy(() ->
            op.plan(
                Map.of("x", TensorType.of(DType.F32, 2, 3)),
                Attributes.of(op.description(), Map.of()),
                TestDevices.of(Target.of("sm_61"), 40, 65_536)))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessage(
            "test device (sm_61) cannot compute this softmax of f32: requires sm_70; the"
                + " device is sm_61");
  }

  /** Inputs are {@code name dtype extents; …} and attributes {@code name=value; …}. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "softmax | x f32 | | input \"x\" has shape []; it must be […, N]",
        "softmax | x f32 5 | causal=true | input \"x\" has shape [5]; with causal it"
            + " must be […, S, N]",
        "softmax | x f32 2147483647 2 | | input \"x\" has shape [2147483647, 2], which is 2147483647 rows of 2 elements; the maximum of either is 2147418112",
        "softmax-dropout | x f32 2 3; mask u8 3 2 | | mask has shape [3, 2] but x has [2, 3]; they must be the same",
        "rms-norm | x f16 2 3; gamma bf16 3 | | gamma is bf16 but x is f16; it must be that or f32",
        "rms-norm | x f64 2 3; gamma f32 3 | | gamma is f32 but x is f64; they must be the same",
        "layer-norm | x f64 2 3; beta f32 3 | | beta is f32 but x is f64; they must be the same",
        "rms-norm | x f32 2 3; gamma f64 3 | | gamma is f64 but x is f32; it must be that or f32",
        "residual-rms-norm | x f64 2 3; residual f32 2 3 | | residual is f32 but x is f64; they must be the same",
        "rms-norm | x f16 2 3; gamma f16 2 | | gamma [2] has N = 2 but x [2, 3] has N = 3; they must be equal",
        "layer-norm | x f16 2 3; gamma f16 3; beta f32 3 | | beta is f32 but gamma is f16; they must be the same",
        "residual-rms-norm | x f16 2 3; residual f32 2 3; gamma f16 3 | | residual is f32 but x is f16; they must be the same",
        "residual-rms-norm | x f16 2 3; residual f16 3; gamma f16 3 | | residual has shape [3] but x has [2, 3]; they must be the same",
        "rms-norm-backward | x f16 2 3; grad f16 6; gamma f16 3 | | x has shape [2, 3] but grad has [6]; they must be the same",
        "rope | x f32 3 4 | theta=10 | input \"x\" has shape [3, 4]; it must be […, S, H, D]",
        "rope | x f32 3 1 5 | theta=10 | rotaryDim is 5; it must be even, from 2 to D = 5",
        "rope | x f32 3 1 6 | theta=10; rotaryDim=8 | rotaryDim is 8; it must be even, from 2 to D = 6",
        "rope | x f32 3 1 6 | | neither theta nor cos is given; give either theta, or"
            + " cos and sin",
        "rope | x f32 3 1 6; cos f32 3 3 | | cos and sin must be given together; give"
            + " both, or theta instead",
        "rope | x f32 3 1 6; cos f32 3 3; sin f32 3 3 | theta=3 | theta and cos are both"
            + " given; give either theta, or cos and sin",
        "rope | x f32 3 1 6; cos f32 3 3; sin f16 3 3 | | sin is f16 but cos is f32; they must be the same",
        "rope | x f32 3 1 6; cos f32 2 3; sin f32 2 3 | | cos has shape [2, 3]; it must be [P, 3] with P of at least 3",
        "rope | x f32 3 1 6; cos f32 2 4; sin f32 2 4; positions i32 3 | | cos has shape [2, 4]; it must be [P, 3] with P of at least 1",
        "rope | x f32 2 3 1 6; positions i32 2 | theta=10 | positions [2] has S = 2 but x [2, 3, 1, 6] has S = 3; they must be equal",
        "rope | x bf16 3 1 6; cos f16 3 3; sin f16 3 3 | | cos is f16 but x is bf16; it must be that or f32",
        "rms-norm-rope | x f32 3 12; weight f32 12; cos f32 3 3; sin f32 3 3 | |"
            + " rms-norm-rope requires heads or headDim",
        "rms-norm-rope | x f32 3 12; weight f32 12; cos f32 3 3; sin f32 3 3 | heads=5 |"
            + " 5 heads of size 2 do not match rows of 12 elements; heads · headDim must equal"
            + " the row length, and headDim must be even",
        "rms-norm-rope | x f32 3 12; weight f32 12; cos f32 3 3; sin f32 3 3 | heads=4 |"
            + " 4 heads of size 3 do not match rows of 12 elements; heads · headDim must equal"
            + " the row length, and headDim must be even",
        "rms-norm-rope | x f32 3 12; weight f32 12; cos f32 3 2; sin f32 3 2 | heads=2 | cos has shape [3, 2]; it must be [P, 3] with P of at least 3",
        "rms-norm-rope | x f32 12; weight f32 12; cos f32 3 2; sin f32 3 2 | heads=2 | input \"x\" has shape [12]; it must be […, S, N]"
      })
  void rejectsProblems(String op, String inputs, String attributes, String message) {
    var given = new HashMap<String, String>();
    for (var each : attributes == null ? new String[0] : attributes.split("; *", -1)) {
      given.put(each.split("=", -1)[0], each.split("=", -1)[1]);
    }
    var types = new HashMap<String, TensorType>();
    for (var each : inputs.split("; *", -1)) {
      var words = each.split(" ", -1);
      var extents = new long[words.length - 2];
      for (int i = 0; i < extents.length; i++) {
        extents[i] = Long.parseLong(words[i + 2]);
      }
      types.put(words[0], TensorType.of(DType.of(words[1]).orElseThrow(), extents));
    }
    assertThatThrownBy(() -> plan(op, given, types))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "softmax | scale | 0 | attribute \"scale\" must be from 1.0E-30 to 1.0E30, got \"0\"",
        "softmax-dropout | probability | -0.5 | attribute \"probability\" must be from 0 to 1, got \"-0.5\"",
        "layer-norm | epsilon | -1 | attribute \"epsilon\" must be from 0 to 1.0E30, got \"-1\"",
        "residual-rms-norm | order | both | attribute \"order\" must be one of pre, post, got \"both\"",
        "rope | theta | 0.5 | attribute \"theta\" must be from 1 to 1.0E30, got \"0.5\"",
        "rope | style | twisted | attribute \"style\" must be one of half, interleaved, got \"twisted\"",
        "rms-norm-rope | heads | 0 | attribute \"heads\" must be from 1 to 2147483647, got \"0\""
      })
  void rejectsAttributes(String op, String name, String value, String message) {
    assertThatThrownBy(() -> Attributes.of(Runner.op(op).description(), Map.of(name, value)))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(message);
  }
}
