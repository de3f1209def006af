package dev.athanor.service.config;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.nvml.Gpu;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.tune.BackgroundTuner;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.Tuner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.grpc.GrpcSettings;
import dev.athanor.service.metrics.Meters;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.rest.RestSettings;
import dev.athanor.service.run.DeviceHealth;
import dev.athanor.service.run.DeviceMemory;
import dev.athanor.service.run.Drain;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.SelfTest;
import dev.athanor.service.run.StreamPool;
import dev.athanor.service.run.Transfers;
import dev.athanor.service.tensor.CreationKeys;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.TensorStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.api.trace.Tracer;
import java.nio.file.Path;
import java.time.Clock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** One device and all that works on it. Nothing in here knows a protocol. */
@Configuration(proxyBeanMethods = false)
@EnableScheduling
@EnableConfigurationProperties(AthanorProperties.class)
class DeviceConfiguration {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceConfiguration.class);

  /** Few samples of a millisecond or so in all, since requests may come any time. */
  private static final Effort BACKGROUND_EFFORT = new Effort(2, 5, 1);

  @Bean
  Clock clock() {
    return Clock.systemUTC();
  }

  @Bean
  Catalogue catalogue(AthanorProperties properties) {
    var folder = properties.plugins();
    if (folder.isEmpty()) {
      return Catalogue.load();
    }
    var catalogue = Catalogue.load(Plugins.of(Path.of(folder)));
    LOG.info("{} ops, with those of the jars in {}", catalogue.all().size(), folder);
    return catalogue;
  }

  @Bean
  DeviceFactory deviceFactory() {
    return Devices::open;
  }

  @Bean(destroyMethod = "close")
  Device device(DeviceFactory factory, AthanorProperties properties) {
    var opened = factory.open(properties.device());
    var capability = opened.device().capability();
    LOG.info(
        "device {}: {}, {}, driver {}, {} MiB; {}",
        capability.id(),
        capability.name(),
        capability.target(),
        capability.driver(),
        capability.memoryBytes() >> 20,
        opened.reason());
    return opened.device();
  }

  @Bean
  RestSettings restSettings(AthanorProperties properties) {
    return properties.rest();
  }

  @Bean
  GrpcSettings grpcSettings(AthanorProperties properties) {
    return properties.grpc();
  }

  @Bean
  Metrics metrics(
      MeterRegistry registry, Tracer tracer, Device device, AthanorProperties properties) {
    return new Metrics(registry, tracer, device.capability().id(), properties.metrics());
  }

  @Bean
  DeviceHealth deviceHealth() {
    return new DeviceHealth();
  }

  @Bean
  DeviceMemory deviceMemory(Device device, DeviceHealth health) {
    return new DeviceMemory(device, health);
  }

  @Bean
  StreamPool streamPool(Device device, DeviceHealth health, AthanorProperties properties) {
    return new StreamPool(device, health, properties.run());
  }

  @Bean
  TensorStore tensorStore(AthanorProperties properties, Clock clock, DeviceMemory memory) {
    var store =
        new TensorStore(
            new Handles(properties.replica()), properties.tensors(), clock, memory::free);
    memory.onShortage(store::sweep);
    return store;
  }

  @Bean
  CreationKeys creationKeys(TensorStore store) {
    return new CreationKeys(store::lives);
  }

  @Bean
  TuningCache tuningCache(AthanorProperties properties) {
    var file = properties.tuning().cache();
    return TuningCache.open(file.isEmpty() ? TuningCache.standardFile() : Path.of(file));
  }

  @Bean
  OpRunner opRunner(
      Device device,
      TuningCache tuned,
      ObjectProvider<BackgroundTuner> tuner,
      DeviceMemory memory,
      TensorStore store,
      StreamPool streams,
      Metrics metrics,
      AthanorProperties properties) {
    return new OpRunner(
        new Planner(device.capability(), tuned),
        problem -> tuner.ifAvailable(background -> background.offer(problem)),
        new KernelCache(device, metrics::kernelLoad),
        memory,
        store,
        streams,
        metrics,
        properties.run());
  }

  /** Made when it is first asked for, which the runner that it needs does. */
  @Bean(destroyMethod = "close")
  @Lazy
  @ConditionalOnBooleanProperty("athanor.tuning.background")
  BackgroundTuner backgroundTuner(
      Device device,
      TuningCache tuned,
      StreamPool streams,
      ObjectProvider<OpRunner> runner,
      Clock clock) {
    return new BackgroundTuner(
        new Tuner(device, tuned, BACKGROUND_EFFORT, clock),
        tuned,
        device.capability(),
        () -> streams.busy() == 0 && streams.waiting() == 0,
        _ -> runner.getObject().forgetPlans());
  }

  @Bean
  Transfers transfers(DeviceMemory memory, TensorStore store, StreamPool streams) {
    return new Transfers(memory, store, streams);
  }

  @Bean
  Drain drain(StreamPool streams) {
    return new Drain(streams);
  }

  @Bean
  ApplicationRunner selfTest(Catalogue catalogue, OpRunner runner, DeviceHealth health) {
    var test = new SelfTest(catalogue, runner, health);
    return _ -> test.run();
  }

  /** Part of readiness: see the group in application.yaml. */
  @Bean
  HealthIndicator deviceHealthIndicator(DeviceHealth health) {
    return () -> (health.isReady() ? Health.up() : Health.outOfService()).build();
  }

  /** Part of liveness: a device that is lost comes back with a new process only. */
  @Bean
  HealthIndicator processHealthIndicator(DeviceHealth health, AthanorProperties properties) {
    return () ->
        (health.isLive(properties.run().lostGrace()) ? Health.up() : Health.down()).build();
  }

  @Bean
  InfoContributor deviceInfo(Device device) {
    var capability = device.capability();
    return info ->
        info.withDetail("device", capability.id())
            .withDetail("deviceName", capability.name())
            .withDetail("target", capability.target().toString())
            .withDetail("driver", capability.driver());
  }

  /** Ends leases in time, so that memory does not wait for the next request. */
  @Bean
  Housekeeping housekeeping(TensorStore store, CreationKeys keys) {
    return new Housekeeping(store, keys);
  }

  record Housekeeping(TensorStore store, CreationKeys keys) {
    @Scheduled(fixedDelayString = "PT5S")
    void sweep() {
      store.sweep();
      keys.sweep();
    }
  }

  @Bean
  Gauges gauges(Device device, StreamPool streams, TensorStore store, Metrics metrics) {
    metrics.gauge(Meters.TENSORS, store::count);
    metrics.gauge(Meters.TENSOR_BYTES, store::bytes);
    metrics.gauge(Meters.DEVICE_MEMORY, () -> device.memory().used(), "used");
    metrics.gauge(Meters.DEVICE_MEMORY, () -> device.memory().free(), "free");
    metrics.gauge(Meters.DEVICE_MEMORY, () -> device.memory().pooled(), "pooled");
    metrics.gauge(Meters.QUEUE_DEPTH, streams::waiting);
    metrics.gauge(Meters.STREAMS_BUSY, streams::busy);
    device.busId().flatMap(Gpu::at).ifPresent(gpu -> metrics.gpu(gpu.uuid(), gpu::read));
    return new Gauges();
  }

  /** Says that the gauges are registered. */
  record Gauges() {}
}
