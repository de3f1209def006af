package dev.athanor.service.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.nvml.Sensor;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class GpuMetersTest {

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Map<Sensor, Double> sensors = new EnumMap<>(Sensor.class);
  private int readings;
  private long now;

  private GpuMeters meters() {
    return new GpuMeters(
        registry,
        "cuda:0",
        () -> {
          readings++;
          return new EnumMap<>(sensors);
        },
        () -> now);
  }

  private List<String> samples() {
    return registry.scrape().lines().filter(line -> !line.startsWith("#")).sorted().toList();
  }

  @Test
  void everySensorHasAMeter() {
    double value = 1.5;
    for (var sensor : Sensor.values()) {
      sensors.put(sensor, value++);
    }
    sensors.put(Sensor.THROTTLE, 36.0);
    meters().register();
    var device = "device=\"cuda:0\"";
    assertThat(samples())
        .contains(
            "athanor_gpu_power_watts{" + device + "} 1.5",
            "athanor_gpu_power_limit_watts{" + device + "} 2.5",
            "athanor_gpu_utilization_ratio{" + device + "} 3.5",
            "athanor_gpu_memory_bytes{" + device + ",state=\"total\"} 4.5",
            "athanor_gpu_memory_bytes{" + device + ",state=\"used\"} 5.5",
            "athanor_gpu_temperature_celsius{" + device + "} 6.5",
            "athanor_gpu_energy_joules_total{" + device + "} 7.5",
            "athanor_gpu_sm_clock_hertz{" + device + "} 8.5",
            "athanor_gpu_ecc_errors_total{" + device + ",kind=\"corrected\"} 9.5",
            "athanor_gpu_ecc_errors_total{" + device + ",kind=\"uncorrected\"} 10.5",
            "athanor_gpu_throttled{" + device + ",reason=\"power-cap\"} 1.0",
            "athanor_gpu_throttled{" + device + ",reason=\"thermal\"} 1.0",
            "athanor_gpu_throttled{" + device + ",reason=\"hardware-thermal\"} 0.0")
        .hasSize(10 + 9);
    var samples = registry.scrape();
    assertThat(Arrays.stream(Meters.values()).filter(meter -> meter.name().startsWith("GPU_")))
        .allMatch(
            meter -> samples.contains("# HELP " + meter.exposed() + " " + meter.description()));
  }

  @Test
  void missingSensorsHaveNoMeter() {
    sensors.put(Sensor.TEMPERATURE_CELSIUS, 40.0);
    var meters = meters();
    meters.register();
    meters.registerAsTriton("GPU-1");
    assertThat(samples())
        .containsExactly("athanor_gpu_temperature_celsius{device=\"cuda:0\"} 40.0");
  }

  @Test
  void readsSensorsAtMostEveryTwoSeconds() {
    sensors.put(Sensor.POWER_WATTS, 100.0);
    sensors.put(Sensor.ENERGY_JOULES, 1000.0);
    meters().register();
    samples();
    now = TimeUnit.MILLISECONDS.toNanos(1999);
    sensors.put(Sensor.POWER_WATTS, 200.0);
    assertThat(samples()).contains("athanor_gpu_power_watts{device=\"cuda:0\"} 100.0");
    assertThat(readings).isEqualTo(1);
    now = TimeUnit.SECONDS.toNanos(2);
    assertThat(samples()).contains("athanor_gpu_power_watts{device=\"cuda:0\"} 200.0");
    samples();
    assertThat(readings).isEqualTo(2);
  }

  @Test
  void unresponsiveGpuKeepsItsCountersButNotItsGauges() {
    sensors.put(Sensor.POWER_WATTS, 100.0);
    sensors.put(Sensor.ENERGY_JOULES, 1000.0);
    sensors.put(Sensor.THROTTLE, 4.0);
    meters().register();
    sensors.clear();
    now = TimeUnit.SECONDS.toNanos(2);
    assertThat(samples())
        .contains(
            "athanor_gpu_power_watts{device=\"cuda:0\"} NaN",
            "athanor_gpu_energy_joules_total{device=\"cuda:0\"} 1000.0",
            "athanor_gpu_throttled{device=\"cuda:0\",reason=\"power-cap\"} NaN");
  }

  @Test
  void registersMetersUnderTritonsNames() {
    double value = 1;
    for (var sensor : Sensor.values()) {
      sensors.put(sensor, value++);
    }
    meters().registerAsTriton("GPU-1");
    var gpu = "{gpu_uuid=\"GPU-1\"} ";
    assertThat(samples())
        .containsExactlyInAnyOrder(
            "nv_gpu_power_usage" + gpu + "1.0",
            "nv_gpu_power_limit" + gpu + "2.0",
            "nv_gpu_utilization" + gpu + "3.0",
            "nv_gpu_memory_total_bytes" + gpu + "4.0",
            "nv_gpu_memory_used_bytes" + gpu + "5.0",
            "nv_energy_consumption" + gpu + "7.0");
  }
}
