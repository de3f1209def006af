package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.SanitizedTrial;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.quantized.warpgroup.WeightTile;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products of packed weights that warpgroups decode to registers. */
class WeightProductTest {

  private static final String WORD = "wgmma_";

  private static SanitizedTrial trial(String text) {
    return SanitizedTrial.of(
        Problem.parse(Runner.op("matmul-int4"), text),
        dtype -> MatmulInt4.tolerance(dtype, dtype)); // weights are exact
  }

  private static boolean isWgmma(Plan plan) {
    return plan.kernel().startsWith("wgmma_");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a=bf16[72,192] packed=u32[136,24] scales=bf16[3,136] groupSize=64",
        "a=f16[72,192] packed=u32[24,136] scales=f16[2,136] zeros=u32[2,17] layout=gptq",
        "a=bf16[72,192] packed=u32[192,20] scales=f32[3,160] groupSize=64 layout=awq"
      })
  void matchesTheReference(String text) {
    assertThat(trial(text).verify(WORD, SanitizedTrial.OPTIONS)).isEqualTo(4);
  }

  /**
   * Edges of tiles along each extent, stages that are not full, the last group of which is shorter,
   * and all kinds of zero points, scales, biases and results.
   */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[136,288] packed=u32[264,36] scales=f32[3,264] bias=f16[264] outDtype=f32",
        "a=bf16[33,32] packed=u32[72,4] scales=f16[1,72] groupSize=-1 bias=f32[72]",
        "a=bf16[2,65,232] packed=u32[29,132] scales=bf16[4,132] groupSize=64 layout=gptq outDtype=f32",
        "a=f16[136,456] packed=u32[57,264] scales=bf16[4,264] zeros=u32[4,33] layout=gptq zeroFormat=plain",
        "a=f16[136,200] packed=u32[200,36] scales=f16[4,288] zeros=u32[4,36] groupSize=64 layout=awq",
        "a=bf16[65,1032] packed=u32[1032,12] scales=f16[9,96] zeros=u32[9,12] layout=awq zeroFormat=less-one bias=bf16[96]"
      })
  void otherProductsMatchTheReference(String text) {
    for (var timing : List.of(AsyncTiming.EAGER, AsyncTiming.REORDERED)) {
      assertThat(trial(text).verify(WORD, SanitizedTrial.OPTIONS.withAsyncTiming(timing)))
          .isPositive();
    }
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=bf16[136,14336] packed=u32[136,1792] scales=bf16[112,136]",
        "a=f16[136,14336] packed=u32[1792,136] scales=f16[112,136] zeros=u32[112,17] layout=gptq",
        "a=bf16[136,14336] packed=u32[14336,20] scales=bf16[112,160] zeros=u32[112,20] layout=awq"
      })
  void productionDepthsMatchTheReference(String text) {
    assertThat(trial(text).verify(WORD, SanitizedTrial.OPTIONS)).isEqualTo(4);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void allSchedulesGiveTheSameBits() {
    var trial =
        trial("a=bf16[72,392] packed=u32[392,20] scales=bf16[4,160] zeros=u32[4,20] layout=awq");
    for (var schedule : Schedule.values()) {
      for (var timing : AsyncTiming.values()) {
        var options = SanitizedTrial.OPTIONS.withSchedule(schedule).withAsyncTiming(timing);
        assertThat(trial.verify(WORD, options)).isEqualTo(4);
      }
    }
  }

  /**
   * A kernel that lacks a barrier, fence, arrival or wait is found out. A cluster computes two
   * tiles, of more stages than its ring has.
   */
  @Test
  void noSynchronizationIsMissedUnnoticed() {
    var trial = trial("a=bf16[128,320] packed=u32[256,40] scales=bf16[3,256]");
    var problem = trial.problem();
    var call = MatmulInt4.problem(problem.inputs(), problem.attributes());
    var device = TestDevices.SMALL;
    var variant =
        new WeightVariant(new WeightTile(64, 2, 2), call.packing(), call.in(), call.epilogue());
    var planner =
        new WeightPlanner(call, call.projections().getFirst(), 0, device, Machine.of(device));
    var first = problem.plans(device).getFirst();
    var plan =
        new LaunchPlan(
            variant.name(), first.outputs(), List.of(planner.step(variant)), 0, first.cost(), "");
    assertThat(Mutants.unnoticed(plan, trial.inputs(), results -> trial.error(results) <= 1))
        .isEmpty();
  }

  /** Only lanes that wait for or arrive at mbarriers take turns. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=bf16[128,128] packed=u32[256,16] scales=bf16[1,256]",
        "a=f16[128,128] packed=u32[16,256] scales=f16[1,256] layout=gptq outDtype=f32",
        "a=bf16[128,128] packed=u32[128,32] scales=bf16[1,256] layout=awq"
      })
  void hasNoBankConflicts(String text) {
    var problem = Problem.parse(Runner.op("matmul-int4"), text);
    for (var plan : problem.plans(TestDevices.H200)) {
      if (isWgmma(plan)) {
        for (var profile : OpProfile.run(plan, problem, Gpu.H200, Long.MAX_VALUE).launches()) {
          assertThat(profile.rows())
              .filteredOn(row -> row.shared().wavefronts() != row.shared().ideal())
              .allSatisfy(row -> assertThat(row.instruction().opcode()).startsWith("mbarrier."));
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'a=bf16[64,128] packed=u32[128,16] scales=bf16[4,128] groupSize=32', groups are smaller than a"
        + " stage of 64",
    "'a=bf16[64,136] packed=u32[128,17] scales=bf16[2,128]', rows are aligned to 4 bytes; the tensor"
        + " memory accelerator requires 16",
    "'a=bf16[32,128] packed=u32[128,16] scales=bf16[1,128]', smaller tiles waste less of each block"
  })
  void explainsWhyOtherProductsHaveOtherKernels(String text, String reason) {
    var plans = Problem.parse(Runner.op("matmul-int4"), text).plans(TestDevices.H200);
    assertThat(plans).isNotEmpty().noneMatch(WeightProductTest::isWgmma);
    assertThat(plans.getFirst().explain())
        .containsPattern("wgmma_.*_64x128x10: \\Q" + reason + "\\E");
  }

  @Test
  void tilesHaveWholeParts() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new WeightTile(96, 4, 1))
        .withMessage("a tile of packed weights has 64 or 128 rows of c, got 96");
  }
}
