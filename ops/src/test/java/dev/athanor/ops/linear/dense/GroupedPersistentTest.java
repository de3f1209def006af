package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
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
import dev.athanor.ops.run.HostRun;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.persistent.PersistentTile;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Products of persistent blocks whose rows have groups. */
class GroupedPersistentTest {

  private static final String WORD = "_persistent_";

  /** All tiles: that of a cluster, those of a block, and those of a warpgroup. */
  private static final List<PersistentTile> TILES =
      List.of(
          new PersistentTile(128, 128, 3, 2),
          new PersistentTile(256, 64, 2, 1),
          new PersistentTile(128, 192, 3, 1),
          new PersistentTile(64, 128, 4, 1),
          new PersistentTile(64, 256, 2, 1));

  /**
   * Returns a product with groups.
   *
   * @param text the problem, with {@code %d} for the number of groups
   * @param sizes of the groups
   */
  private static SanitizedTrial trial(String text, int... sizes) {
    var problem =
        Problem.parse(Runner.op("grouped-matmul"), text.replace("%d", sizes.length + ""));
    var inputs = new HashMap<>(problem.draw(new SplittableRandom(TestTier.seed())));
    inputs.put(
        "sizes",
        HostTensor.of(
            TensorType.of(DType.I32, sizes.length),
            IntStream.of(sizes).asDoubleStream().toArray()));
    var exact = 
        Objects.requireNonNull(
            problem.op().reference(inputs, problem.attributes()).get("c"));
    return new SanitizedTrial(
        problem,
        inputs,
        exact,
        dtype -> problem.op().tolerance("c", dtype, problem.inputs(), problem.attributes()));
  }

  private static PersistentPlanner planner(MatmulProblem problem) {
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
    return new PersistentPlanner(problem, inputs, tiles, Machine.of(device));
  }

  private static LaunchPlan plan(SanitizedTrial trial, PersistentTile tile) {
    var problem =
        MatmulProblem.ofGroups(
            trial.problem().op().description(),
            trial.problem().inputs(),
            trial.problem().attributes());
    var planner = planner(problem);
    var variant = planner.variant(tile);
    var outputs = trial.problem().plans(TestDevices.SMALL).getFirst().outputs();
    return new LaunchPlan(
        variant.name(), outputs, planner.steps(variant), 0, problem.cost(), "");
  }

  /** Runs a product with each of the tiles. */
  private static void verify(SanitizedTrial trial, EmulatorOptions options) {
    for (var tile : TILES) {
      try (var device = new EmulatedDevice(options)) {
        var outputs =
            HostRun.of(device, new KernelCache(device), plan(trial, tile), trial.inputs())
                .outputs();
        assertThat(trial.error(outputs)).as(tile.toString()).isLessThanOrEqualTo(1);
      }
    }
  }

  @Test
  void matchesTheReference() {
    var trial = trial("a=f16[200,72] b=f16[%d,72,136] sizes=i32[%d]", 65, 0, 130);
    verify(trial, SanitizedTrial.OPTIONS);
  }
}
