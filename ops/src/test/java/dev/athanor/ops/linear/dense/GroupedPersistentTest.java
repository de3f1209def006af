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
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.SanitizedTrial;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.run.HostRun;
import dev.athanor.ops.tile.persistent.PersistentTile;
import dev.athanor.testing.TestTier;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
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
    var problem = Problem.parse(Runner.op("grouped-matmul"), text.replace("%d", sizes.length + ""));
    var inputs = new HashMap<>(problem.draw(new SplittableRandom(TestTier.seed())));
    inputs.put(
        "sizes",
        HostTensor.of(
            TensorType.of(DType.I32, sizes.length),
            IntStream.of(sizes).asDoubleStream().toArray()));
    var exact =
        Objects.requireNonNull(problem.op().reference(inputs, problem.attributes()).get("c"));
    return new SanitizedTrial(
        problem,
        inputs,
        Map.of("c", exact),
        dtype -> problem.op().tolerance("c", dtype, problem.inputs(), problem.attributes()));
  }

  private static LaunchPlan plan(SanitizedTrial trial, PersistentTile tile) {
    var problem =
        MatmulProblem.ofGroups(
            trial.problem().op().description(),
            trial.problem().inputs(),
            trial.problem().attributes());
    var outputs = trial.problem().plans(TestDevices.SMALL).getFirst().outputs();
    return PersistentProductTest.plan(problem, tile, outputs);
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

  /**
   * Groups that are empty, end at or near the edges of tiles, exceed the rows or leave some, and
   * more groups than a warp has lanes.
   */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "300: 0 1 63 64 65 0 127",
        "420: 200 127 0 63 1 1",
        "300: -5 128 0 -1 64 64",
        "150: 65 200 300",
        "150: 2147483647 2147483647 1",
        "150: 0 0 150 0",
        "150: 0 0 0",
        "130: -2147483648 130",
        "260: 256",
        "1: 0 1"
      })
  void groupsOfAllSizesMatchTheReference(String rowsAndSizes) {
    var parts = rowsAndSizes.split(":? ");
    var sizes = Stream.of(parts).skip(1).mapToInt(Integer::parseInt).toArray();
    var text = "a=bf16[" + parts[0] + ",72] b=bf16[%d,136,72] sizes=i32[%d] transposeB=true";
    verify(trial(text, sizes), SanitizedTrial.OPTIONS.withAsyncTiming(AsyncTiming.REORDERED));
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void manyGroupsMatchTheReference() {
    var sizes = IntStream.range(0, 70).map(i -> i % 9 == 4 ? 17 : i == 33 ? 90 : i % 5 % 2);
    var text = "a=f16[280,72] b=f16[%d,72,72] bias=f16[%d,72] sizes=i32[%d]";
    verify(trial(text, sizes.toArray()), SanitizedTrial.OPTIONS);
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "a=f16[210,392] b=f16[%d,136,392] bias=f16[%d,136] sizes=i32[%d] transposeB=true activation=gelu",
        "a=bf16[210,72] b=bf16[%d,72,264] bias=f32[%d,264] sizes=i32[%d] activation=silu",
        "a=bf16[210,136] b=bf16[%d,132,136] bias=bf16[%d,132] sizes=i32[%d] transposeB=true outDtype=f32 activation=relu",
        "a=f16[210,136] b=f16[%d,136,136] sizes=i32[%d] outDtype=f32 activation=gelu-tanh",
        "a=f16[210,64] b=f16[%d,328,64] bias=f32[%d,328] sizes=i32[%d] transposeB=true outDtype=bf16"
      })
  void otherEpiloguesMatchTheReference(String text) {
    verify(trial(text, 66, 3, 0, 129), SanitizedTrial.OPTIONS);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void productionDepthsMatchTheReference() {
    var text = "a=bf16[72,16384] b=bf16[%d,136,16384] sizes=i32[%d] transposeB=true";
    verify(trial(text, 70, 1), SanitizedTrial.OPTIONS);
  }

  /** Those that the planner offers have the grids and tiles of production. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void plansMatchTheReference() {
    var text = "a=f16[600,72] b=f16[%d,72,264] bias=f16[%d,264] sizes=i32[%d]";
    assertThat(trial(text, 300, 290).verify(WORD, SanitizedTrial.OPTIONS)).isEqualTo(8);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void allSchedulesGiveTheSameBits() {
    var trial = trial("a=bf16[150,200] b=bf16[%d,200,136] sizes=i32[%d]", 3, 130, 0, 5);
    var results = new HashSet<ByteBuffer>();
    for (var schedule : Schedule.values()) {
      for (var timing : AsyncTiming.values()) {
        var options = SanitizedTrial.OPTIONS.withSchedule(schedule).withAsyncTiming(timing);
        for (var tile : List.of(TILES.getFirst(), TILES.getLast())) {
          results.add(bits(plan(trial, tile), trial.inputs(), options));
        }
      }
    }
    assertThat(results).hasSize(1);
  }

  /** The bits of a row depend neither on its place in a tile nor on the rows around it. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void plansOfAnOrderGiveTheSameBits() {
    var trial = trial("a=f16[140,200] b=f16[%d,200,136] sizes=i32[%d]", 67, 70);
    var ofTile = plan(trial, TILES.getFirst());
    var same =
        trial.problem().plans(TestDevices.H200).stream()
            .map(LaunchPlan.class::cast)
            .filter(plan -> plan.order().contains("wgmma"))
            .toList();
    assertThat(same).extracting(LaunchPlan::order).containsOnly(same.getFirst().order());
    assertThat(same).extracting(LaunchPlan::kernel).anyMatch(name -> !name.contains(WORD));
    var results = new HashSet<ByteBuffer>();
    var all = Stream.concat(Stream.of(ofTile), same.stream());
    all.forEach(plan -> results.add(bits(plan, trial.inputs(), SanitizedTrial.OPTIONS)));
    assertThat(results).hasSize(1);
  }

  private static String explain(String text) {
    return Problem.parse(Runner.op("grouped-matmul"), text)
        .plans(TestDevices.H200)
        .getFirst()
        .explain();
  }

  @Test
  void largeGroupsPreferClusters() {
    assertThat(explain("a=bf16[4096,4096] b=bf16[8,14336,4096] sizes=i32[8] transposeB=true"))
        .startsWith("grouped_matmul_bf16_persistent_128x256x4_cluster2_nt_bf16");
  }

  @Test
  void explainsWhyGroupsOfFewRowsHaveTilesOfFewRows() {
    assertThat(explain("a=bf16[16,2048] b=bf16[128,768,2048] sizes=i32[128] transposeB=true"))
        .startsWith("grouped_matmul_bf16_persistent_64x128x8_nt_bf16")
        .contains(
            "  grouped_matmul_bf16_persistent_128x256x4_nt_bf16: smaller tiles waste less of each"
                + " block");
  }

  @Test
  void explainsWhyUnalignedRowsHaveOtherKernels() {
    assertThat(explain("a=f16[256,260] b=f16[4,260,264] sizes=i32[4]"))
        .contains(
            "  grouped_matmul_f16_persistent_64x256x5_nn_f16: rows are aligned to 8 bytes; the"
                + " tensor memory accelerator requires 16");
  }

  private static ByteBuffer bits(
      LaunchPlan plan, Map<String, HostTensor> inputs, EmulatorOptions options) {
    try (var device = new EmulatedDevice(options)) {
      var outputs = HostRun.of(device, new KernelCache(device), plan, inputs).outputs();
      return ByteBuffer.wrap(Tensors.bytes(Tensors.get(outputs, "c")));
    }
  }

  /**
   * A kernel that lacks a barrier, fence, arrival or wait is found out. A cluster or a block
   * computes several tiles, of more stages than its ring has. Without a cluster, the emulator knows
   * initialized mbarriers everywhere.
   */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({"128, 2, ", "64, 1, fence.mbarrier_init.release.cluster"})
  void noSynchronizationIsMissedUnnoticed(int m, int cluster, @Nullable String unnoticed) {
    var trial = trial("a=f16[330,320] b=f16[%d,136,320] sizes=i32[%d] transposeB=true", 256, 3, 66);
    var plan = plan(trial, new PersistentTile(m, 128, 2, cluster));
    assertThat(Mutants.unnoticed(plan, trial.inputs(), results -> trial.error(results) <= 1))
        .map(each -> each.replaceAll("^\\d+: ([^ ;]+).*", "$1"))
        .containsExactlyElementsOf(Stream.ofNullable(unnoticed).toList());
  }
}
