package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.MetricsSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.TracerProvider;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OutcomesTest {

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Metrics metrics =
      new Metrics(
          registry, TracerProvider.noop().get("test"), "fake:0", new MetricsSettings(false));

  /** Every outcome is counted, in both protocols. */
  @Test
  void countsEveryOutcome() {
    var failures =
        Map.of("draining", Failure.Busy.draining(), "internal", new IllegalStateException("a bug"));
    failures.forEach((outcome, failure) -> {
      Outcomes.Request request =
          () -> {
            throw failure;
          };
      assertThat(catchThrowable(() -> Outcomes.count(metrics, "rest", request))).isEqualTo(failure);
      assertThat(
              catchThrowable(() ->
                  metrics.counted(
                      "grpc",
                      () -> {
                        throw failure;
                      })))
          .isEqualTo(failure);
      assertThat(count("rest", outcome)).isEqualTo(1);
      assertThat(count("grpc", outcome)).isEqualTo(1);
    });
    Outcomes.Request disconnect =
        () -> {
          throw new IOException("broken pipe");
        };
    assertThat(catchThrowable(() -> Outcomes.count(metrics, "rest", disconnect)))
        .isInstanceOf(IOException.class);
    assertThat(count("rest", "cancelled")).isEqualTo(1);
  }

  private double count(String op, String outcome) {
    return registry.get("athanor.op.requests").tags("op", op, "outcome", outcome).counter().count();
  }
}
