package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.SanitizedTrial;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.persistent.PersistentTile;
import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Products of persistent blocks that share K. A dependent launch adds their sums. */
class PersistentSplitTest {

  /** In the names of first launches: the types of their sums have 32 bits. */
  private static final String WORD = "32_split";

  /** A device that the tiles of small products do not fill. */
  private static final Capability DEVICE = TestDevices.of(Target.SM_90A, 12, 232_448);

  /** The last stage is not full. */
  @Test
  void matchesTheReference() {
    assertThat(
            SanitizedTrial.of("matmul", "a=f16[72,520] b=f16[136,520] transposeB=true")
                .verify(WORD, DEVICE, SanitizedTrial.OPTIONS))
        .isGreaterThanOrEqualTo(2);
  }

  /** Shares of unequal depth, layouts, epilogues, batches, unaligned rows, and all dtypes. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "matmul, 'a=bf16[136,840] b=bf16[840,264]'",
    "matmul, 'a=f16[520,72] b=f16[520,136] transposeA=true'",
    "matmul, 'a=f16[136,776] b=f16[136,776] bias=f16[136] transposeB=true activation=gelu alpha=0.5'",
    "matmul, 'a=bf16[2,1,72,520] b=bf16[3,520,72] outDtype=f32'",
    "matmul, 'a=f16[136,1001] b=f16[1001,76]'",
    "matmul, 'a=e4m3[136,1168] b=e4m3[264,1168] transposeB=true outDtype=bf16'",
    "matmul, 'a=e5m2[136,1168] b=e5m2[136,1168] transposeB=true outDtype=f16 bias=f16[136]'",
    "matmul-int8, 'a=i8[136,1040] b=i8[1040,264] scale=f32[]'",
    "matmul-int8, 'a=i8[136,1040] b=i8[264,1040] transposeB=true outDtype=i32'",
    "matmul-int8, 'a=i8[136,1040] b=i8[132,1040] transposeB=true aScale=f32[136] bScale=f32[132] bias=f32[132] outDtype=bf16'"
  })
  void otherProductsMatchTheReference(String op, String text) {
    assertThat(
            SanitizedTrial.of(op, text)
                .verify(
                    WORD, DEVICE, SanitizedTrial.OPTIONS.withAsyncTiming(AsyncTiming.REORDERED)))
        .isGreaterThanOrEqualTo(2);
  }

  /** The shares have the scales of their own blocks along K. */
  @Test
  void scaledBlocksMatchTheReference() {
    var text =
        "a=e4m3[136,1168] b=e4m3[264,1168] aScale=f32[136,10] bScale=f32[3,10] transposeB=true"
            + " blockScales=true outDtype=bf16";
    assertThat(
            SanitizedTrial.of("matmul-fp8", text)
                .verify(
                    "persistent_128x128x6_cluster2_nt_f32_blocks_split",
                    DEVICE,
                    SanitizedTrial.OPTIONS))
        .isEqualTo(1);
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "matmul, 'a=f16[72,16384] b=f16[72,16384] transposeB=true'",
    "matmul, 'a=bf16[72,16384] b=bf16[72,16384] transposeB=true'",
    "matmul, 'a=e4m3[72,16384] b=e4m3[72,16384] transposeB=true outDtype=bf16'",
    "matmul-int8, 'a=i8[72,16384] b=i8[72,16384] transposeB=true outDtype=i32'"
  })
  void productionDepthsMatchTheReference(String op, String text) {
    assertThat(SanitizedTrial.of(op, text).verify(WORD, DEVICE, SanitizedTrial.OPTIONS))
        .isGreaterThanOrEqualTo(2);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void allSchedulesAreRight() {
    var trial = SanitizedTrial.of("matmul", "a=f16[72,520] b=f16[520,72]");
    for (var schedule : Schedule.values()) {
      for (var timing : AsyncTiming.values()) {
        var options = SanitizedTrial.OPTIONS.withSchedule(schedule).withAsyncTiming(timing);
        assertThat(trial.verify(WORD, DEVICE, options)).isGreaterThanOrEqualTo(2);
      }
    }
  }

  /**
   * Kernels that lack a barrier, fence, arrival or wait are found out, for the launch that adds the
   * sums as for the first. A cluster computes two shares, of more stages than its ring has.
   */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void noSynchronizationIsMissedUnnoticed() {
    var trial = SanitizedTrial.of("matmul", "a=f16[136,640] b=f16[72,640] transposeB=true");
    assertThat(
            Mutants.unnoticed(
                plan(trial, new PersistentTile(128, 128, 2, 2), new Shares(2, 5)),
                trial.inputs(),
                results -> trial.error(results) <= 1))
        .isEmpty();
  }

  private static LaunchPlan plan(SanitizedTrial trial, PersistentTile tile, Shares shares) {
    var given = trial.problem();
    var problem = Matmul.problem(given.inputs(), given.attributes());
    var inputs = Padding.none(problem);
    var device = TestDevices.SMALL;
    var tiles =
        new TilePlanner(problem.m(), problem.n(), problem.k(), 1, problem.a(), problem.b(), device);
    var planner = new PersistentPlanner(problem, inputs, tiles, Machine.of(device));
    var variant = planner.split(tile);
    return new LaunchPlan(
        variant.name(),
        given.plans(device).getFirst().outputs(),
        planner.steps(variant, shares),
        (long) shares.count() * problem.m() * problem.n() * Float.BYTES,
        problem.cost(),
        "");
  }
}
