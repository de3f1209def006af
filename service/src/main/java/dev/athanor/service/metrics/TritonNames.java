package dev.athanor.service.metrics;

import dev.athanor.service.metrics.Metrics.Phase;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.DoubleAdder;

/**
 * Publishes the metrics of ops under Triton's names, so that Triton dashboards and alerts work. The
 * values are counters, but Micrometer would append {@code _total} to their names, so they are
 * registered as gauges; {@code rate()} works for both.
 */
final class TritonNames {

  private record Key(String name, Tags tags) {}

  private final MeterRegistry registry;
  private final ConcurrentHashMap<Key, DoubleAdder> values = new ConcurrentHashMap<>();

  TritonNames(MeterRegistry registry) {
    this.registry = registry;
  }

  void phase(String op, Phase phase, double micros) {
    var name =
        switch (phase) {
          // Triton loads models in advance, so waiting for a kernel counts as queue time
          case PREPARE, QUEUE -> "queue";
          case UPLOAD -> "compute_input";
          case KERNEL -> "compute_infer";
          case DOWNLOAD -> "compute_output";
          case TOTAL -> "request";
        };
    add("nv_inference_" + name + "_duration_us", tags(op), micros);
  }

  /**
   * Counts a request.
   *
   * @param outcome ok, or the code of the failure
   */
  void request(String op, String outcome) {
    if (outcome.equals("ok")) {
      add("nv_inference_request_success", tags(op), 1);
      return;
    }
    var reason =
        switch (outcome) {
          case "queue-full",
              "quota-exceeded",
              "out-of-host-memory",
              "draining",
              "deadline-exceeded" ->
              "REJECTED";
          case "cancelled" -> "CANCELED";
          case "internal", "device-lost", "out-of-device-memory" -> "BACKEND";
          default -> "OTHER";
        };
    add("nv_inference_request_failure", tags(op).and("reason", reason), 1);
  }

  /** Counts a launch and its calls. */
  void launch(String op, int calls) {
    add("nv_inference_count", tags(op), calls);
    add("nv_inference_exec_count", tags(op), 1);
  }

  private static Tags tags(String op) {
    return Tags.of("model", op, "version", "1");
  }

  private void add(String name, Tags tags, double value) {
    values
        .computeIfAbsent(
            new Key(name, tags),
            key -> {
              var sum = new DoubleAdder();
              Gauge.builder(key.name, sum, DoubleAdder::sum)
                  .description("The corresponding metric of Triton Inference Server")
                  .tags(key.tags)
                  .register(registry);
              return sum;
            })
        .add(value);
  }
}
