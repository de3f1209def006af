package dev.athanor.ops.linear.steps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag(TestTier.THOROUGH_TAG)
class LadderTest {

  private static List<Profile> profiles = List.of();

  static List<LadderStep> steps() {
    return Ladder.steps();
  }

  @BeforeAll
  static void profile() {
    profiles =
        steps().stream()
            .map(step ->
                OpProfile.run(
                        step.plan(128, 128, 128),
                        Ladder.inputs(128, 128, 128),
                        Gpu.H200,
                        Long.MAX_VALUE)
                    .launches()
                    .getFirst())
            .toList();
  }

  @ParameterizedTest
  @MethodSource("steps")
  void everyStepMatchesTheReference(LadderStep step) {
    var draw = new Draw(new SplittableRandom(7));
    for (int k : new int[] {32, 160}) {
      var inputs = Map.of("a", draw.normal(DType.F16, 64, k), "b", draw.normal(DType.F16, k, 128));
      var matmul = new Matmul();
      var exact = matmul.reference(inputs, Attributes.of(matmul.description(), Map.of()));
      var c = Runner.run(step.plan(64, 128, k), inputs, "c").toDoubles();
      assertThat(Tolerance.relative(1e-6).error(c, Objects.requireNonNull(exact.get("c"))))
          .isLessThan(1e-6);
    }
  }

  @ParameterizedTest
  @MethodSource("steps")
  void everyStepIsValidAndRunsOnOlderGpus(LadderStep step) {
    for (var kernel : step.plan(64, 64, 32).kernels()) {
      var module = Module.of(kernel);
      assertThat(Verifier.faults(module)).isEmpty();
      assertThat(module.target()).isEqualTo(Target.SM_80);
    }
  }

  /** Returns the factor by which a count decreases between two neighboring steps. */
  private static double gain(String from, String to, ToLongFunction<Profile> of) {
    int second = index(to);
    assertThat(index(from)).isEqualTo(second - 1);
    return (double) of.applyAsLong(profiles.get(second - 1)) / of.applyAsLong(profiles.get(second));
  }

  private static int index(String name) {
    return steps().stream().map(LadderStep::name).toList().indexOf(name);
  }

  private static long sectors(Profile profile) {
    return profile.sum(row -> row.global().sectors());
  }

  private static long requests(Profile profile) {
    return profile.sum(row -> row.global().requests());
  }

  private static long wavefronts(Profile profile) {
    return profile.sum(row -> row.shared().wavefronts());
  }

  private static long conflicts(Profile profile) {
    return profile.sum(row -> row.shared().conflicts());
  }

  /** Returns the number of loads from global memory into registers, for which threads wait. */
  private static long waits(Profile profile) {
    return profile.sum(
        row -> row.instruction().opcode().startsWith("ld.global") ? row.executed() : 0);
  }

  private static long barriers(Profile profile) {
    return profile.mix().getOrDefault("bar", 0L);
  }

  /** Each step reduces the counts that it is meant to reduce. */
  @Test
  void everyStepReducesItsCounts() {
    assertThat(gain("naive", "shared-tiles", LadderTest::sectors)).isGreaterThan(10);
    assertThat(gain("shared-tiles", "register-tiles", LadderTest::sectors)).isGreaterThan(2);
    assertThat(gain("shared-tiles", "register-tiles", LadderTest::wavefronts)).isGreaterThan(3);
    assertThat(gain("register-tiles", "vector-loads", LadderTest::requests)).isGreaterThan(4);
    assertThat(gain("register-tiles", "vector-loads", LadderTest::wavefronts)).isGreaterThan(1.9);
    assertThat(waits(profiles.get(index("vector-loads")))).isPositive();
    assertThat(waits(profiles.get(index("async-copies")))).isZero();
    assertThat(gain("async-copies", "tensor-cores", Profile::executed)).isGreaterThan(10);
    for (var step : List.of("naive", "shared-tiles", "register-tiles", "vector-loads")) {
      assertThat(conflicts(profiles.get(index(step)))).as(step).isZero();
    }
    assertThat(conflicts(profiles.get(index("tensor-cores")))).isPositive();
    assertThat(conflicts(profiles.get(index("ldmatrix")))).isZero();
    assertThat(gain("tensor-cores", "ldmatrix", LadderTest::wavefronts)).isGreaterThan(2);
    assertThat(gain("ldmatrix", "pipeline", LadderTest::barriers)).isEqualTo(2);
  }

  /** No step loses what an earlier one gained. */
  @Test
  void noStepMovesMoreThanThePrevious() {
    for (int i = 1; i < profiles.size(); i++) {
      var before = profiles.get(i - 1);
      var after = profiles.get(i);
      assertThat(sectors(after)).as(after.kernel()).isLessThanOrEqualTo(sectors(before));
    }
  }

  @Test
  void rejectsPartialTiles() {
    assertThatThrownBy(() -> Ladder.steps().getFirst().plan(64, 65, 32))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage(
            "the steps of the ladder multiply whole tiles: m and n are multiples of 64 and k of 32,"
                + " got 64, 65 and 32");
  }

  /** The table in {@code docs/matmul-ladder.md} has the current counts of the profiler. */
  @Test
  void documentHasTheseCounts() throws IOException {
    var table = new StringBuilder();
    for (int i = 0; i < profiles.size(); i++) {
      var profile = profiles.get(i);
      table.append(
          "| %d | %s | %d | %d | %d | %d | %d | %d | %d |\n"
              .formatted(
                  i + 1,
                  steps().get(i).name(),
                  profile.executed(),
                  requests(profile),
                  sectors(profile),
                  waits(profile),
                  wavefronts(profile),
                  conflicts(profile),
                  barriers(profile)));
    }
    assertThat(Path.of("../docs/matmul-ladder.md")).content().contains(table.toString());
  }
}
