package dev.athanor.ops.attention.backward;

import static dev.athanor.engine.analysis.sass.InstructionClass.HGMMA;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.SanitizedTrial;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.AttentionSize;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradients of attention by blocks whose warpgroups have roles. */
class WarpgroupBackwardTest {

  private static final AttentionBackward BACKWARD = new AttentionBackward();
  private static final Map<String, ?> PLAIN = Map.of();
  private static final Map<String, ?> CAUSAL = Map.of("causal", true);

  private static Case of(DType dtype, AttentionSize size) {
    return BackwardCases.backward(new Draw(new Random(TestTier.seed())), size, dtype);
  }

  /** Returns the plan for warpgroups. */
  private static LaunchPlan plan(Map<String, HostTensor> inputs, Attributes attributes) {
    return BACKWARD.plans(HostTensor.types(inputs), attributes, TestDevices.SMALL).stream()
        .map(LaunchPlan.class::cast)
        .filter(plan -> plan.kernel().contains("_groups_"))
        .findFirst()
        .orElseThrow();
  }

  private static LaunchPlan plan(Case each) {
    return plan(each.inputs(), each.attributes());
  }

  private static void verify(DType dtype, AttentionSize size, EmulatorOptions options) {
    var each = of(dtype, size);
    var exact = BACKWARD.reference(each.inputs(), each.attributes());
    try (var device = new EmulatedDevice(options)) {
      HostRun.of(device, new KernelCache(device), plan(each), each.inputs())
          .outputs()
          .forEach((name, gradient) -> {
            var tolerance = each.tolerance(name);
            assertThat(tolerance.error(gradient.toDoubles(), AttentionReference.get(exact, name)))
                .as("%s of %s", name, size)
                .isLessThanOrEqualTo(tolerance.limit());
          });
    }
  }

  @Test
  void matchesTheReference() {
    verify(DType.F16, AttentionSize.oneHead(200, 300, 64, 64, CAUSAL), SanitizedTrial.OPTIONS);
    verify(
        DType.BF16, new AttentionSize(1, 4, 2, 130, 140, 128, 128, PLAIN), SanitizedTrial.OPTIONS);
  }

  /** Ragged tiles, head sizes between panels, masks, and rows without columns. */
  private static List<AttentionSize> awkwardSizes() {
    return List.of(
        AttentionSize.oneHead(97, 97, 8, 8, PLAIN),
        AttentionSize.oneHead(97, 103, 16, 128, PLAIN),
        new AttentionSize(2, 6, 2, 129, 257, 96, 40, CAUSAL),
        AttentionSize.oneHead(200, 500, 64, 64, Map.of("causal", true, "window", 70)),
        AttentionSize.oneHead(300, 299, 72, 72, Map.of("window", 33)),
        AttentionSize.oneHead(
            300, 100, 64, 64, Map.of("alignment", "top-left", "causal", true, "window", 9)),
        AttentionSize.oneHead(100, 400, 128, 128, Map.of("alignment", "top-left", "causal", true)),
        AttentionSize.oneHead(300, 100, 128, 64, CAUSAL),
        AttentionSize.oneHead(130, 170, 64, 128, Map.of("scale", 0.3)),
        AttentionSize.oneHead(130, 150, 64, 64, Map.of("softcap", 3, "scale", 0.5)),
        new AttentionSize(1, 2, 1, 90, 150, 128, 128, Map.of("causal", true, "softcap", 20)));
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @MethodSource("awkwardSizes")
  void awkwardShapesMatchTheReference(AttentionSize size) {
    verify(DType.F16, size, SanitizedTrial.OPTIONS);
    verify(DType.BF16, size, SanitizedTrial.OPTIONS);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void manyRowsMatchTheReference() {
    verify(DType.F16, AttentionSize.oneHead(100, 4099, 32, 32, CAUSAL), SanitizedTrial.OPTIONS);
    verify(DType.F16, AttentionSize.oneHead(4099, 100, 32, 32, PLAIN), SanitizedTrial.OPTIONS);
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @EnumSource
  void allTimingsAndSchedulesMatchTheReference(AsyncTiming timing) {
    for (var schedule : Schedule.values()) {
      var options =
          SanitizedTrial.OPTIONS
              .withAsyncTiming(timing)
              .withSchedule(schedule)
              .withSeed(TestTier.seed());
      verify(DType.F16, new AttentionSize(1, 2, 1, 210, 330, 64, 64, CAUSAL), options);
    }
  }

  /** Hidden NaNs and infinities change no bit; gradients of rows that see them are NaN. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "F16, 64, 200, 200, 0, 100, NaN",
    "F16, 64, 200, 230, 70, 130, Infinity",
    "BF16, 128, 150, 190, 0, 30, -Infinity"
  })
  void hiddenRowsHaveNoInfluence(
      DType dtype, int d, int sq, int sk, int window, int hole, double special) {
    Map<String, ?> given = Map.of("causal", true, "window", window);
    var each = of(dtype, AttentionSize.oneHead(sq, sk, d, d, given));
    var plan = plan(each);
    var baseline = Runner.run(plan, each.inputs());
    var ofKey =
        Runner.run(
            plan, AttentionBackwardTest.with(each.inputs(), List.of("k", "v"), hole, d, special));
    var ofQuery =
        Runner.run(
            plan,
            AttentionBackwardTest.with(each.inputs(), List.of("q", "grad"), hole, d, special));
    for (int i = 0; i < sq; i++) {
      if (!AttentionBackwardTest.sees(i, hole, sq, sk, window)) {
        assertRowsEqual(baseline, ofKey, "dq", i, d);
      } else {
        assertThat(Tensors.get(ofKey, "dq").get((long) i * d)).isNaN();
      }
    }
    for (int j = 0; j < sk; j++) {
      if (!AttentionBackwardTest.sees(hole, j, sq, sk, window)) {
        assertRowsEqual(baseline, ofQuery, "dk", j, d);
        assertRowsEqual(baseline, ofQuery, "dv", j, d);
      } else {
        assertThat(Tensors.get(ofQuery, "dk").get((long) j * d)).isNaN();
        assertThat(Tensors.get(ofQuery, "dv").get((long) j * d)).isNaN();
      }
    }
  }

  private static void assertRowsEqual(
      Map<String, HostTensor> expected,
      Map<String, HostTensor> outputs,
      String name,
      int row,
      int d) {
    for (int c = 0; c < d; c++) {
      assertThat(Tensors.get(outputs, name).get((long) row * d + c))
          .as("%s[%d, %d]", name, row, c)
          .isEqualTo(Tensors.get(expected, name).get((long) row * d + c));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "256 | 256 | 136 | 64 | computes head sizes up to 128",
        "256 | 256 | 64 | 68 | rows are aligned to 8 bytes; the tensor memory accelerator requires 16",
        "64 | 256 | 64 | 64 | smaller tiles waste less of each block",
        "256 | 64 | 128 | 128 | smaller tiles waste less of each block"
      })
  void explainsWhyOtherKernelsAreUsed(int sq, int sk, int d, int dv, String reason) {
    var plan = plans(sq, sk, d, dv, TestDevices.H200).getFirst();
    assertThat(plan.explain())
        .containsPattern("  attention_backward_dkdv_f16_\\S+_groups_\\S+: " + reason);
    assertThat(plan.kernel()).doesNotContain("_groups_");
  }

  @Test
  void otherTargetsUseWarps() {
    var other = TestDevices.of(Target.SM_90, 132, 232_448);
    var plan = plans(1024, 1024, 64, 64, other).getFirst();
    assertThat(plan.kernel()).doesNotContain("_groups_");
    assertThat(plan.explain())
        .contains(
            "attention_backward_dkdv_f16_d64_groups_192x64x3: requires sm_90a; the device is sm_90");
  }

  @Test
  void longSequencesUseWarpgroups() {
    var plan = plans(4096, 4096, 128, 128, TestDevices.H200).getFirst();
    assertThat(plan.kernel()).isEqualTo("attention_backward_dkdv_f16_d128_groups_128x64x3");
    assertThat(plan.kernels().stream().map(Kernel::name))
        .containsExactly(
            "attention_backward_delta_f16_a16",
            "attention_backward_dq_f16_d128_groups_128x128x2",
            "attention_backward_dkdv_f16_d128_groups_128x64x3");
  }

  private static List<? extends Plan> plans(int sq, int sk, int d, int dv, Capability device) {
    var inputs =
        Map.of(
            "q", TensorType.of(DType.F16, sq, d),
            "k", TensorType.of(DType.F16, sk, d),
            "v", TensorType.of(DType.F16, sk, dv),
            "grad", TensorType.of(DType.F16, sq, dv),
            "out", TensorType.of(DType.F16, sq, dv),
            "lse", TensorType.of(DType.F32, sq));
    return BACKWARD.plans(inputs, Attributes.of(BACKWARD.description(), PLAIN), device);
  }

  /** Repeated runs give the same bits, whatever the order in which warps run. */
  @Test
  void runsAreBitIdentical() {
    var each = of(DType.F16, new AttentionSize(1, 4, 2, 130, 150, 64, 64, CAUSAL));
    var first = Runner.run(plan(each), each.inputs());
    var options =
        SanitizedTrial.OPTIONS
            .withSchedule(Schedule.RANDOM)
            .withAsyncTiming(AsyncTiming.RANDOM)
            .withSeed(TestTier.seed());
    try (var device = new EmulatedDevice(options)) {
      HostRun.of(device, new KernelCache(device), plan(each), each.inputs())
          .outputs()
          .forEach((name, gradient) -> Tensors.equalBits(gradient, Tensors.get(first, name)));
    }
  }

  /** The assembler neither serializes products nor spills. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(ints = {8, 64, 96, 128})
  void assemblesWithoutAdvisories(int d) {
    var assembler = Programs.require(Ptxas.find(), "ptxas", "install a CUDA toolkit");
    var all = Map.of("causal", true, "window", 99, "softcap", 5);
    for (var given : List.of(PLAIN, CAUSAL, all)) {
      for (var step : plan(of(DType.BF16, AttentionSize.oneHead(200, 200, d, d, given))).steps()) {
        if (step.variant() instanceof WarpgroupBackwardVariant variant) {
          var machine =
              MachineCode.of(assembler, Module.of(variant.build()).toString(), Target.SM_90A);
          assertThat(machine.warnings()).as(variant.name()).isEmpty();
          int products = (variant.isOfQueries() ? 1 : 2) * variant.width() / 16;
          assertThat(machine.of(variant.name()).instructions().of(HGMMA))
              .as(variant.name())
              .isEqualTo((variant.d() + variant.dv()) / 16 + products);
        }
      }
    }
  }
}
