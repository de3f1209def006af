package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.SanitizedTrial;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.persistent.PersistentTile;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products of persistent blocks, whose warpgroups copy or multiply. */
class PersistentProductTest {

  private static final String WORD = "_persistent_";

  private static boolean isPersistent(Plan plan) {
    return plan.kernel().contains(WORD);
  }

  @Test
  void matchesTheReference() {
    assertThat(
            SanitizedTrial.of("matmul", "a=f16[264,456] b=f16[264,456] transposeB=true")
                .verify(WORD, SanitizedTrial.OPTIONS))
        .isEqualTo(11);
  }

  /** Edges of tiles along each extent, and stages that are not full. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[136,72] b=f16[72,264]",
        "a=f16[72,136] b=f16[72,264] transposeA=true",
        "a=bf16[136,72] b=bf16[264,72] transposeB=true",
        "a=bf16[72,136] b=bf16[264,72] transposeA=true transposeB=true",
        "a=f16[136,8] b=f16[8,136]"
      })
  void allLayoutsMatchTheReference(String text) {
    assertThat(SanitizedTrial.of("matmul", text).verify(WORD, SanitizedTrial.OPTIONS))
        .isGreaterThanOrEqualTo(2);
  }

  /** Epilogues, batches that repeat matrices, padded inputs, and results of other widths. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "matmul, 'a=f16[200,392] b=f16[136,392] bias=f16[136] transposeB=true activation=gelu'",
    "matmul, 'a=f16[3,136,72] b=f16[72,136]'",
    "matmul, 'a=f16[2,1,136,72] b=f16[3,72,136]'",
    "matmul, 'a=bf16[136,1160] b=bf16[1160,264] alpha=0.5 outDtype=f32'",
    "matmul, 'a=f16[136,71] b=f16[71,136]'",
    "matmul-fp8, 'a=e4m3[136,400] b=e4m3[264,400] transposeB=true'",
    "matmul, 'a=e4m3[136,400] b=e4m3[264,400] transposeB=true outDtype=f32'",
    "matmul, 'a=e5m2[136,144] b=e5m2[136,144] transposeB=true outDtype=f16 bias=f16[136]'",
    "matmul-fp8, 'a=e4m3[200,400] b=e4m3[264,400] aScale=f32[200,4] bScale=f32[3,4] transposeB=true blockScales=true outDtype=bf16'",
    "matmul, 'a=e4m3[2,136,80] b=e4m3[2,80,200] outDtype=f16'",
    "matmul-int8, 'a=i8[136,400] b=i8[400,264] scale=f32[]'",
    "matmul-int8, 'a=i8[136,400] b=i8[264,400] transposeB=true outDtype=i32'",
    "matmul-int8, 'a=i8[136,400] b=i8[264,400] transposeB=true scale=f32[]'",
    "matmul-int8, 'a=i8[136,144] b=i8[136,144] transposeB=true aScale=f32[136] bScale=f32[136] bias=f32[136] outDtype=bf16'"
  })
  void otherProductsMatchTheReference(String op, String text) {
    for (var timing : List.of(AsyncTiming.EAGER, AsyncTiming.REORDERED)) {
      assertThat(
              SanitizedTrial.of(op, text)
                  .verify(WORD, SanitizedTrial.OPTIONS.withAsyncTiming(timing)))
          .isGreaterThanOrEqualTo(2);
    }
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(strings = {"bf16", "f16"})
  void productionDepthsMatchTheReference(String dtype) {
    var text = "a=%s[136,16384] b=%s[136,16384] transposeB=true".formatted(dtype, dtype);
    assertThat(SanitizedTrial.of("matmul", text).verify(WORD, SanitizedTrial.OPTIONS))
        .isGreaterThanOrEqualTo(2);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void allSchedulesGiveTheSameBits() {
    var trial = SanitizedTrial.of("matmul", "a=bf16[136,392] b=bf16[392,136]");
    for (var schedule : Schedule.values()) {
      for (var timing : AsyncTiming.values()) {
        var options = SanitizedTrial.OPTIONS.withSchedule(schedule).withAsyncTiming(timing);
        assertThat(trial.verify(WORD, options)).isEqualTo(8);
      }
    }
  }

  /**
   * A kernel that lacks a barrier, fence, arrival or wait is found out. A cluster computes two
   * tiles, of more stages than its ring has.
   */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void noSynchronizationIsMissedUnnoticed() {
    var trial = SanitizedTrial.of("matmul", "a=f16[256,320] b=f16[256,320] transposeB=true");
    var problem = Matmul.problem(trial.problem().inputs(), trial.problem().attributes());
    var outputs = trial.problem().plans(TestDevices.SMALL).getFirst().outputs();
    var plan = plan(problem, new PersistentTile(128, 128, 2, 2), outputs);
    assertThat(Mutants.unnoticed(plan, trial.inputs(), results -> trial.error(results) <= 1))
        .isEmpty();
  }

  /** Returns the plan of a tile that need not be one of the planner's. */
  static LaunchPlan plan(
      MatmulProblem problem, PersistentTile tile, Map<String, TensorType> outputs) {
    var inputs = Padding.none(problem);
    var device = TestDevices.SMALL;
    var tiles =
        new TilePlanner(
            problem.m(),
            problem.n(),
            problem.k(),
            1,
            inputs.a().operand(),
            inputs.b().operand(),
            device);
    var planner = new PersistentPlanner(problem, inputs, tiles, Machine.of(device));
    var variant = planner.whole(tile);
    var steps = planner.steps(variant, planner.all(variant));
    return new LaunchPlan(variant.name(), outputs, steps, 0, problem.cost(), "");
  }

  @Test
  void productsOfOtherTypesHaveOtherKernels() {
    var text = "a=f32[256,256] b=f32[256,256] precision=tf32";
    assertThat(Problem.parse(Runner.op("matmul"), text).plans(TestDevices.H200))
        .isNotEmpty()
        .noneMatch(PersistentProductTest::isPersistent);
  }

  @Test
  void explainsWhyUnalignedRowsOfTheResultHaveOtherKernels() {
    assertThat(
            Problem.parse(Runner.op("matmul"), "a=f16[256,264] b=f16[260,264] transposeB=true")
                .plans(TestDevices.H200)
                .getFirst()
                .explain())
        .contains(
            "  matmul_f16_persistent_128x256x4_nt_f16: rows are aligned to 8 bytes; the tensor"
                + " memory accelerator requires 16");
  }

  @Test
  void tilesHaveWholePanels() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new PersistentTile(128, 160, 4, 1))
        .withMessage(
            "a persistent tile has 64 rows or a multiple of 128, and a multiple of 64 columns up to 256,"
                + " got 128x160");
  }
}
