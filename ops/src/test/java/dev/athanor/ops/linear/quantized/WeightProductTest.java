package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.ops.DType;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.SanitizedTrial;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.quantized.warpgroup.WeightTile;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products of 4-bit and int8 weights that warpgroups decode to registers. */
class WeightProductTest {

  private static final String WORD = "wgmma_";

  /** Returns a problem of one product with 4-bit weights, or of three with int8 weights. */
  private static Problem problem(String text) {
    return Problem.parse(
        Runner.op(text.startsWith("x=") ? "qkv-project-int8" : "matmul-int4"), text);
  }

  private static SanitizedTrial trial(String text) {
    return trial(problem(text));
  }

  private static SanitizedTrial trial(Problem problem) {
    return SanitizedTrial.of(
        problem, dtype -> MatmulInt4.tolerance(dtype, dtype)); // weights are exact
  }

  private static boolean isWgmma(Plan plan) {
    return plan.kernel().startsWith("wgmma_");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a=bf16[72,192] packed=u32[136,24] scales=bf16[3,136] groupSize=64",
        "a=f16[72,192] packed=u32[24,136] scales=f16[2,136] zeros=u32[2,17] layout=gptq",
        "a=bf16[72,192] packed=u32[192,20] scales=f32[3,160] groupSize=64 layout=awq",
        "x=f16[72,192] wq=i8[192,144] wk=i8[192,160] wv=i8[192,160] scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
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
        "a=bf16[65,1032] packed=u32[1032,12] scales=f16[9,96] zeros=u32[9,12] layout=awq zeroFormat=less-one bias=bf16[96]",
        "x=bf16[136,8] wq=i8[8,272] wk=i8[8,144] wv=i8[8,144] scaleQ=f32[] scaleK=f32[] scaleV=f32[]",
        "x=f16[1,456] wq=i8[456,16] wk=i8[456,112] wv=i8[456,112] scaleQ=f32[] scaleK=f32[] scaleV=f32[] biasQ=f32[16] biasK=f32[112] biasV=f32[112]",
        "x=bf16[2,65,1032] wq=i8[1032,80] wk=i8[1032,16] wv=i8[1032,16] scaleQ=f32[] scaleK=f32[] scaleV=f32[] biasQ=bf16[80] biasK=bf16[16] biasV=bf16[16]"
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
        "a=bf16[136,14336] packed=u32[14336,20] scales=bf16[112,160] zeros=u32[112,20] layout=awq",
        "x=bf16[8,16384] wq=i8[16384,16] wk=i8[16384,16] wv=i8[16384,16] scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
      })
  void productionDepthsMatchTheReference(String text) {
    assertThat(trial(text).verify(WORD, SanitizedTrial.OPTIONS)).isPositive();
  }

  /** Products with an identity matrix are the weights, which include all 256 values. */
  @ParameterizedTest
  @ValueSource(strings = {"F16", "BF16"})
  void int8WeightsAreExact(DType in) {
    var problem =
        problem(
            "x=%s[64,64] wq=i8[64,144] wk=i8[64,16] wv=i8[64,16] scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
                .formatted(in.text()));
    var inputs = new HashMap<>(trial(problem).inputs());
    inputs.put("x", Tensors.identity(in, 64));
    for (var letter : List.of("Q", "K", "V")) {
      inputs.put("scale" + letter, Tensors.filled(TensorType.of(DType.F32), 1));
    }
    assertThat(Tensors.get(inputs, "wq").toDoubles()).contains(-128, 127);
    var exact = problem.op().reference(inputs, problem.attributes());
    var trial = new SanitizedTrial(problem, inputs, exact, _ -> Tolerance.exact());
    assertThat(trial.verify(WORD, SanitizedTrial.OPTIONS)).isPositive();
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=bf16[72,392] packed=u32[392,20] scales=bf16[4,160] zeros=u32[4,20] layout=awq",
        "x=bf16[72,392] wq=i8[392,144] wk=i8[392,144] wv=i8[392,144] scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
      })
  void allSchedulesGiveTheSameBits(String text) {
    var trial = trial(text);
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
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=bf16[128,320] packed=u32[256,40] scales=bf16[3,256]",
        "x=bf16[128,320] wq=i8[320,256] wk=i8[320,256] wv=i8[320,256] scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
      })
  void noSynchronizationIsMissedUnnoticed(String text) {
    var problem = problem(text);
    var call =
        problem.op() instanceof QkvProject qkv
            ? qkv.problem(problem.inputs(), problem.attributes())
            : MatmulInt4.problem(problem.inputs(), problem.attributes());
    var projection = call.projections().getFirst();
    var trial = trial(text).only(projection.output());
    var device = TestDevices.SMALL;
    var variant = WeightVariant.of(new WeightTile(64, 2, 2), call);
    var planner = new WeightPlanner(call, projection, 0, device, Machine.of(device));
    var first = problem.plans(device).getFirst();
    var plan =
        new LaunchPlan(
            variant.name(), first.outputs(), List.of(planner.step(variant)), 0, first.cost(), "");
    try (var emulator = new EmulatedDevice(SanitizedTrial.OPTIONS)) {
      var run = HostRun.of(emulator, new KernelCache(emulator), plan, trial.inputs());
      assertThat(trial.error(run.outputs())).isLessThanOrEqualTo(1);
    }
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
        "a=bf16[128,128] packed=u32[128,32] scales=bf16[1,256] layout=awq",
        "x=bf16[128,128] wq=i8[128,256] wk=i8[128,256] wv=i8[128,256] scaleQ=f32[] scaleK=f32[] scaleV=f32[]"
      })
  void hasNoBankConflicts(String text) {
    var problem = problem(text);
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
    "'x=bf16[64,128] wq=i8[128,136] wk=i8[128,128] wv=i8[128,128] scaleQ=f32[] scaleK=f32[]"
        + " scaleV=f32[]', rows are aligned to 8 bytes; the tensor memory accelerator requires 16"
  })
  void explainsWhyOtherProductsHaveOtherKernels(String text, String reason) {
    var plans = problem(text).plans(TestDevices.H200);
    assertThat(plans).isNotEmpty().noneMatch(WeightProductTest::isWgmma);
    assertThat(plans.getFirst().explain())
        .containsPattern("wgmma_.*_64x128x10: \\Q" + reason + "\\E");
  }

  @Test
  void smallProductsHaveTheSmallestTile() {
    var text = "a=bf16[32,128] packed=u32[128,16] scales=bf16[1,128]";
    assertThat(problem(text).plans(TestDevices.H200))
        .filteredOn(WeightProductTest::isWgmma)
        .singleElement()
        .satisfies(plan ->
            assertThat(plan.explain())
                .containsPattern("wgmma_.*_64x128x10: about")
                .containsPattern("wgmma_.*_128x128x7: smaller tiles waste less of each block"));
  }

  @Test
  void tilesHaveWholeParts() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new WeightTile(96, 4, 1))
        .withMessage("a tile of quantized weights has 64 or 128 rows of c, got 96");
  }
}
