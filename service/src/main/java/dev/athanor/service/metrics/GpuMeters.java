package dev.athanor.service.metrics;

import dev.athanor.engine.nvml.Sensor;
import dev.athanor.engine.nvml.ThrottleReason;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Meters for the sensors that a GPU has at registration. Each scrape reads the sensors at most
 * once; scrapes within two seconds share a reading.
 */
final class GpuMeters {

  private static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final MeterRegistry registry;
  private final String device;
  private final Supplier<Map<Sensor, Double>> read;
  private final LongSupplier nanos;

  // guarded by this
  private Map<Sensor, Double> values;
  private final Map<Sensor, Double> counted = new EnumMap<>(Sensor.class);
  private long readAt;

  GpuMeters(
      MeterRegistry registry,
      String device,
      Supplier<Map<Sensor, Double>> read,
      LongSupplier nanos) {
    this.registry = registry;
    this.device = device;
    this.read = read;
    this.nanos = nanos;
    readAt = nanos.getAsLong();
    values = read.get();
    counted.putAll(values);
  }

  void register() {
    gauge(Sensor.POWER_WATTS, Meters.GPU_POWER);
    gauge(Sensor.POWER_LIMIT_WATTS, Meters.GPU_POWER_LIMIT);
    gauge(Sensor.UTILIZATION, Meters.GPU_UTILIZATION);
    gauge(Sensor.MEMORY_USED_BYTES, Meters.GPU_MEMORY, "used");
    gauge(Sensor.MEMORY_TOTAL_BYTES, Meters.GPU_MEMORY, "total");
    gauge(Sensor.TEMPERATURE_CELSIUS, Meters.GPU_TEMPERATURE);
    gauge(Sensor.SM_CLOCK_HERTZ, Meters.GPU_SM_CLOCK);
    counter(Sensor.ENERGY_JOULES, Meters.GPU_ENERGY);
    counter(Sensor.ECC_CORRECTED, Meters.GPU_ECC, "corrected");
    counter(Sensor.ECC_UNCORRECTED, Meters.GPU_ECC, "uncorrected");
    if (has(Sensor.THROTTLE)) {
      for (var reason : ThrottleReason.values()) {
        var name = reason.name().toLowerCase(Locale.ROOT).replace('_', '-');
        gauge(() -> throttled(reason), Meters.GPU_THROTTLED, name);
      }
    }
  }

  /** Registers the sensors under Triton's metric names; see {@link TritonNames}. */
  void registerAsTriton(String uuid) {
    var names =
        Map.of(
            "nv_gpu_power_usage", Sensor.POWER_WATTS,
            "nv_gpu_power_limit", Sensor.POWER_LIMIT_WATTS,
            "nv_gpu_utilization", Sensor.UTILIZATION,
            "nv_gpu_memory_total_bytes", Sensor.MEMORY_TOTAL_BYTES,
            "nv_gpu_memory_used_bytes", Sensor.MEMORY_USED_BYTES,
            "nv_energy_consumption", Sensor.ENERGY_JOULES);
    names.forEach((name, sensor) -> {
      if (has(sensor)) {
        Gauge.builder(name, () -> value(sensor))
            .description("The corresponding metric of Triton Inference Server")
            .tags(Tags.of("gpu_uuid", uuid))
            .strongReference(true)
            .register(registry);
      }
    });
  }

  private void gauge(Sensor sensor, Meters meter, String... labels) {
    if (has(sensor)) {
      gauge(() -> value(sensor), meter, labels);
    }
  }

  private void gauge(Supplier<Number> value, Meters meter, String... labels) {
    Gauge.builder(meter.id(), value)
        .description(meter.description())
        .tags(Metrics.tags(device, meter, List.of(labels)))
        .strongReference(true)
        .register(registry);
  }

  private void counter(Sensor sensor, Meters meter, String... labels) {
    if (has(sensor)) {
      FunctionCounter.builder(meter.id(), this, it -> it.counted(sensor))
          .description(meter.description())
          .tags(Metrics.tags(device, meter, List.of(labels)))
          .register(registry);
    }
  }

  private synchronized boolean has(Sensor sensor) {
    return values.containsKey(sensor);
  }

  /** Returns the current value of a sensor; NaN if unavailable. */
  private synchronized double value(Sensor sensor) {
    refresh();
    return values.getOrDefault(sensor, Double.NaN);
  }

  private double throttled(ThrottleReason reason) {
    double reasons = value(Sensor.THROTTLE);
    return Double.isNaN(reasons) ? reasons : reason.in(reasons) ? 1 : 0;
  }

  /** Returns the last known value of a sensor. */
  private synchronized double counted(Sensor sensor) {
    refresh();
    return counted.getOrDefault(sensor, 0.0);
  }

  private void refresh() {
    long now = nanos.getAsLong();
    if (now - readAt >= MAX_AGE_NANOS) {
      readAt = now;
      values = read.get();
      counted.putAll(values);
    }
  }
}
