package dev.athanor.service.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.metrics.Metrics.Phase;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.api.trace.TracerProvider;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the metrics under Triton's names, which are optional. */
class TritonNamesTest {

  private static List<String> samples(boolean triton) {
    var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    var metrics =
        new Metrics(
            registry, TracerProvider.noop().get("test"), "emulator:0", new MetricsSettings(triton));
    double micros = 10;
    for (var phase : Phase.values()) {
      metrics.time("matmul", "f32", phase, micros++);
      metrics.time("matmul", "f16", phase, 0.5);
    }
    metrics.launch("matmul", 3);
    metrics.launch("matmul", 1);
    metrics.request("matmul", "ok");
    metrics.request("matmul", "ok");
    for (var outcome :
        List.of("queue-full", "deadline-exceeded", "cancelled", "internal", "shape-mismatch")) {
      metrics.request("matmul", outcome);
    }
    return registry.scrape().lines().filter(line -> line.startsWith("nv_")).sorted().toList();
  }

  @Test
  void exportsMetricsUnderTritonsNames() {
    var model = "{model=\"matmul\",version=\"1\"} ";
    var failure = "nv_inference_request_failure{model=\"matmul\",reason=\"%s\",version=\"1\"} %s";
    assertThat(samples(true))
        .containsExactlyInAnyOrder(
            "nv_inference_count" + model + "4.0",
            "nv_inference_exec_count" + model + "2.0",
            "nv_inference_queue_duration_us" + model + "22.0",
            "nv_inference_compute_input_duration_us" + model + "12.5",
            "nv_inference_compute_infer_duration_us" + model + "13.5",
            "nv_inference_compute_output_duration_us" + model + "14.5",
            "nv_inference_request_duration_us" + model + "15.5",
            "nv_inference_request_success" + model + "2.0",
            failure.formatted("REJECTED", "2.0"),
            failure.formatted("CANCELED", "1.0"),
            failure.formatted("BACKEND", "1.0"),
            failure.formatted("OTHER", "1.0"));
  }

  @Test
  void omitsTritonsNamesByDefault() {
    assertThat(samples(false)).isEmpty();
  }
}
