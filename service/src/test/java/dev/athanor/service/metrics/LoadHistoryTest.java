package dev.athanor.service.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.TestClock;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.tensor.Tenant;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.TracerProvider;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LoadHistoryTest {

  @Test
  void samplesAllDevices() {
    var registry = new SimpleMeterRegistry();
    var clock = new TestClock();
    var all =
        new Metrics(registry, TracerProvider.noop().get("test"), "all", new MetricsSettings(false));
    for (var device : new String[] {"fake:0", "fake:1"}) {
      var metrics = all.of(device);
      metrics.gauge(Meters.QUEUE_DEPTH, () -> 1);
      metrics.gauge(Meters.STREAMS_BUSY, () -> 2);
      metrics.gauge(Meters.DEVICE_MEMORY, () -> 1024, "used");
      metrics.gauge(Meters.DEVICE_MEMORY, () -> 512, "pooled");
      metrics.gauge(Meters.DEVICE_MEMORY, () -> 9, "free");
    }
    var history = new LoadHistory(registry, clock);
    history.sample();
    all.succeeded("matmul");
    all.succeeded("relu");
    all.of("fake:0").time("matmul", "f32", Phase.TOTAL, 200);
    all.of("fake:1").time("relu", "f32", Phase.TOTAL, 300);
    all.of("fake:1").time("relu", "f32", Phase.QUEUE, 50);
    all.failed(Tenant.LOCAL, "relu", new IllegalStateException("a bug"));
    history.sample();
    assertThat(history.samples())
        .containsExactly(
            new LoadHistory.Sample(clock.instant(), 0, 0, 0, 0, 2, 4, 2048, 1024),
            new LoadHistory.Sample(clock.instant(), 3, 1, 2, 500, 2, 4, 2048, 1024));

    var first = clock.instant();
    for (int i = 0; i < LoadHistory.SAMPLES; i++) {
      clock.advance(Duration.ofSeconds(5));
      history.sample();
    }
    assertThat(history.samples()).hasSize(LoadHistory.SAMPLES);
    assertThat(history.samples().getFirst().time()).isEqualTo(first.plusSeconds(5));
  }
}
