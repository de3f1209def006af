package dev.athanor.ops.tune;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.linear.dense.Matmul;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TunerTest {

  private static final Effort SHORT = new Effort(1, 1, 0);
  private static final InstantSource CLOCK =
      InstantSource.fixed(Instant.parse("2026-01-02T03:04:05.678Z"));

  private static Problem matmul(String text) {
    return Problem.parse(new Matmul(), text);
  }

  @Test
  void plansTheTunedVariant() {
    var cache = TuningCache.inMemory();
    var problem = matmul("a=f32[20,12] b=f32[12,9]");
    try (var device = new EmulatedDevice()) {
      var result = new Tuner(device, cache, SHORT, CLOCK).tune(problem, 1);
      var plans = problem.plans(device.capability());
      assertThat(result.rows()).hasSameSizeAs(plans).hasSizeGreaterThan(1);
      var winner = result.winner().orElseThrow();
      assertThat(cache.all()).containsExactly(winner);
      assertThat(winner.date()).isEqualTo("2026-01-02T03:04:05Z");
      assertThat(winner.micros())
          .isEqualTo(
              result.rows().stream()
                  .filter(row -> row.kernel().equals(winner.kernel()))
                  .mapToDouble(row -> row.ours().orElseThrow().median())
                  .sum());

      var planner = new Planner(device.capability(), cache);
      var other = matmul("a=f32[28,12] b=f32[12,11]");
      assertThat(planner.plan(other).kernel()).isEqualTo(winner.kernel());
      assertThat(planner.plan(other).explain())
          .contains("tuned 2026-01-02T03:04:05Z: ")
          .endsWith(", the best for " + winner.key().bucket());
      assertThat(planner.plans(other))
          .extracting(Plan::kernel)
          .containsExactlyInAnyOrderElementsOf(plans.stream().map(p -> p.kernel()).toList());
    }
  }

  @Test
  void usesTheCostModelWithoutAWinner() {
    var problem = matmul("a=f16[512,512] b=f16[512,512]");
    var cache = TuningCache.inMemory();
    var plans = problem.plans(TestDevices.H200);
    var planner = new Planner(TestDevices.H200, cache);
    assertThat(planner.plans(problem)).isEqualTo(plans);

    // also if the winner is not a candidate, as after an update
    cache.put(
        new TuningCache.Winner(
            TuningKey.of(problem, TestDevices.H200), "matmul_of_old", 1, problem.text(), ""));
    assertThat(planner.plans(problem)).isEqualTo(plans);

    var last = plans.getLast().kernel();
    cache.put(
        new TuningCache.Winner(
            TuningKey.of(problem, TestDevices.H200), last, 1, problem.text(), ""));
    assertThat(planner.plan(problem).kernel()).isEqualTo(last);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a=f16[4096,4096] b=f16[4096,64] | a=f16[2064,4000] b=f16[4000,48] | true",
        "a=f16[4096,4096] b=f16[4096,64] | a=f16[2048,4096] b=f16[4096,64] | false",
        "a=f16[4096,4096] b=f16[4096,64] | a=f16[4096,4092] b=f16[4092,64] | false",
        "a=f16[4096,4096] b=f16[4096,64] | a=bf16[4096,4096] b=bf16[4096,64] | false",
        "a=f16[1,1] b=f16[1,1] | a=f16[2,2] b=f16[2,2] | false",
        "a=f16[4,4] b=f16[4,4] | a=f16[4,4] b=f16[4,4] transposeB=true | false"
      })
  void bucketsGroupSimilarExtents(String one, String other, boolean same) {
    var key = TuningKey.of(matmul(one), TestDevices.H200);
    assertThat(key.equals(TuningKey.of(matmul(other), TestDevices.H200))).isEqualTo(same);
  }
}
