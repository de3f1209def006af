package dev.athanor.service.openinference;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.openinference.ModelStatistics.Duration;
import dev.athanor.service.run.Result;
import dev.athanor.service.run.TestOps;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ModelStatisticsTest {

  private static final ServedModel SILU = new OpModel(new TestOps.Identity());

  private static Result result(int batchSize, double kernelMicros) {
    return new Result(
        "fake:0",
        List.of(new Result.Step("silu", "silu_f32", kernelMicros, 0)),
        Map.of(),
        new Result.Timing(0, 1, 2, kernelMicros, 3, 10 + kernelMicros),
        batchSize);
  }

  @Test
  void countsASharedLaunchAsOneExecution() {
    var counts =
        ModelStatistics.none(SILU)
            .succeeded(1, result(3, 6))
            .succeeded(2, result(0, 6))
            .succeeded(3, result(0, 6))
            .succeeded(4, result(1, 4))
            .succeeded(5, result(1, 5))
            .failed(6, 7);
    assertThat(counts.inferences()).isEqualTo(5);
    assertThat(counts.executions()).isEqualTo(3);
    assertThat(counts.compute().infer()).isEqualTo(new Duration(5, 27_000));
    assertThat(counts.batches()).containsOnlyKeys(1, 3);
    assertThat(counts.batches().values())
        .extracting(ModelStatistics.Compute::infer)
        .containsExactly(new Duration(2, 9_000), new Duration(1, 6_000));
    assertThat(counts.success()).isEqualTo(new Duration(5, 77_000));
    assertThat(counts.fail()).isEqualTo(new Duration(1, 7_000));
    assertThat(counts.lastInference()).isEqualTo(6);
  }

  @Test
  void failuresAreNotExecutions() {
    var none = ModelStatistics.none(SILU).failed(1, 1);
    assertThat(none.executions()).isZero();
    assertThat(none.batches()).isEmpty();
  }
}
