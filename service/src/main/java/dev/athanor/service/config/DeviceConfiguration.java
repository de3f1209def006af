package dev.athanor.service.config;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.nvml.Gpu;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.plugin.Plugins;
import dev.athanor.ops.tune.BackgroundTuner;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.Tuner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.grpc.GrpcSettings;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.LoadHistory;
import dev.athanor.service.metrics.Meters;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.replica.ReplicatedTensors;
import dev.athanor.service.replica.WeightLoader;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import dev.athanor.service.run.SelfTest;
import dev.athanor.service.stream.Drain;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.IdempotencyKeys;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Placement;
import dev.athanor.service.transfer.Transfers;
import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.api.trace.Tracer;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
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
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** Beans for devices and execution, independent of protocols. */
@Configuration(proxyBeanMethods = false)
@EnableScheduling
@EnableConfigurationProperties(AthanorProperties.class)
class DeviceConfiguration {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceConfiguration.class);

  /** Few samples, about a millisecond in total, since requests may arrive at any time. */
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
    var plugins = Plugins.load(Path.of(folder));
    if (plugins.jars().isEmpty()) {
      LOG.warn("The plugin folder {} has no jars", folder);
    } else {
      var jars = String.join(", ", plugins.jars());
      LOG.info("{} ops, with those of {} in {}", plugins.catalogue().all().size(), jars, folder);
    }
    return plugins.catalogue();
  }

  @Bean
  DeviceFactory deviceFactory() {
    return Devices::openAll;
  }

  /** The open devices by number; closed with their {@link DeviceRuntimes}. */
  record Opened(List<Devices.Opened> all) {
    List<Device> devices() {
      return all.stream().map(Devices.Opened::device).toList();
    }

    List<String> ids() {
      return devices().stream().map(device -> device.capability().id()).toList();
    }
  }

  @Bean
  Opened devices(DeviceFactory factory, AthanorProperties properties) {
    var opened = factory.open(properties.device());
    for (var each : opened) {
      var capability = each.device().capability();
      LOG.debug(
          "Device {}: {}, {}, driver {}, {} MiB; {}",
          capability.id(),
          capability.name(),
          capability.target(),
          capability.driver(),
          capability.memoryBytes() >> 20,
          each.reason());
    }
    return new Opened(opened);
  }

  @Bean
  StartupReport startupReport(
      Opened opened,
      DeviceHealth health,
      AthanorProperties properties,
      Environment environment,
      ObjectProvider<GrpcServerLifecycle> grpc) {
    return new StartupReport(
        opened.all(), health, properties.security(), environment, grpc.getIfAvailable());
  }

  @Bean
  RestSettings restSettings(AthanorProperties properties) {
    return properties.rest();
  }

  @Bean
  GrpcSettings grpcSettings(AthanorProperties properties) {
    return properties.grpc();
  }

  /** The device label of metrics that do not concern a single device. */
  private static final String ALL_DEVICES = "all";

  /** Returns the metrics of requests, which may be rejected before a device is chosen. */
  @Bean
  Metrics metrics(
      MeterRegistry registry, Tracer tracer, Opened opened, AthanorProperties properties) {
    var device = opened.ids().size() == 1 ? opened.ids().getFirst() : ALL_DEVICES;
    return new Metrics(registry, tracer, device, properties.metrics());
  }

  @Bean
  DeviceHealth deviceHealth(Opened opened) {
    return new DeviceHealth(opened.ids());
  }

  @Bean
  DeviceRuntimes runtimes(
      Opened opened,
      DeviceHealth health,
      TuningCache tuned,
      Metrics metrics,
      AthanorProperties properties) {
    var runtimes = new ArrayList<DeviceRuntime>();
    for (var device : opened.devices()) {
      var ofDevice = metrics.of(device.capability().id());
      runtimes.add(
          new DeviceRuntime(
              device,
              new DeviceMemory(runtimes.size(), device, health, properties.run()),
              new Planner(device.capability(), tuned),
              new KernelCache(device, ofDevice::kernelLoad),
              ofDevice,
              properties.run()));
    }
    return new DeviceRuntimes(runtimes);
  }

  @Bean
  StreamPool streamPool(
      DeviceRuntimes runtimes, DeviceHealth health, AthanorProperties properties) {
    return new StreamPool(
        runtimes.all().stream().map(DeviceRuntime::device).toList(),
        health,
        properties.run(),
        properties.quota());
  }

  @Bean
  Handles handles(AthanorProperties properties) {
    return new Handles(properties.replica(), properties.forward().url());
  }

  @Bean
  TensorStore tensorStore(
      Handles handles, AthanorProperties properties, Clock clock, DeviceRuntimes runtimes) {
    var store = new TensorStore(handles, properties.tensors(), properties.quota(), clock);
    runtimes.onShortage(store::spillIdle);
    return store;
  }

  @Bean
  InlineMemory inlineMemory(DeviceRuntimes runtimes, AthanorProperties properties) {
    return new InlineMemory(runtimes, properties.run(), properties.quota());
  }

  @Bean
  Placement placement(DeviceRuntimes runtimes, TensorStore store, StreamPool streams) {
    return new Placement(runtimes, store, streams);
  }

  @Bean
  IdempotencyKeys<String> uploadKeys(TensorStore store) {
    return new IdempotencyKeys<>(store::lives);
  }

  @Bean
  IdempotencyKeys<Result> callKeys(TensorStore store) {
    return new IdempotencyKeys<>(result -> IdempotentCalls.isValid(result, store));
  }

  @Bean
  IdempotentCalls idempotentCalls(OpRunner runner, IdempotencyKeys<Result> keys) {
    return new IdempotentCalls(runner, keys);
  }

  @Bean
  TuningCache tuningCache(AthanorProperties properties) {
    var file = properties.tuning().cache();
    return TuningCache.open(file.isEmpty() ? TuningCache.standardFile() : Path.of(file));
  }

  @Bean
  OpRunner opRunner(
      DeviceRuntimes runtimes,
      Placement placement,
      ObjectProvider<Tuners> tuners,
      TensorStore store,
      StreamPool streams,
      AthanorProperties properties) {
    return new OpRunner(
        runtimes,
        placement,
        (runtime, problem) -> tuners.ifAvailable(all -> all.of(runtime).offer(problem)),
        store,
        streams,
        properties.run());
  }

  /** Created lazily, when the runner first uses it. */
  @Bean(destroyMethod = "close")
  @Lazy
  @ConditionalOnBooleanProperty("athanor.tuning.background")
  Tuners tuners(DeviceRuntimes runtimes, TuningCache tuned, StreamPool streams, Clock clock) {
    return new Tuners(
        runtimes.all().stream()
            .map(runtime ->
                new BackgroundTuner(
                    new Tuner(runtime.device(), tuned, BACKGROUND_EFFORT, clock),
                    tuned,
                    runtime.device().capability(),
                    () -> streams.busy() == 0 && streams.waiting() == 0,
                    _ -> runtimes.all().forEach(DeviceRuntime::forgetPlans)))
            .toList());
  }

  /** The background tuners by device number. */
  record Tuners(List<BackgroundTuner> all) implements AutoCloseable {
    BackgroundTuner of(DeviceRuntime runtime) {
      return all.get(runtime.number());
    }

    @Override
    public void close() {
      all.forEach(BackgroundTuner::close);
    }
  }

  @Bean
  Transfers transfers(Placement placement, TensorStore store, StreamPool streams) {
    return new Transfers(placement, store, streams);
  }

  @Bean
  ReplicatedTensors replicatedTensors(
      Peers peers, Handles handles, TensorStore store, Transfers transfers) {
    return new ReplicatedTensors(peers, handles, store, transfers);
  }

  @Bean
  Drain drain(StreamPool streams, AthanorProperties properties) {
    return new Drain(streams, properties.run());
  }

  @Bean
  WeightLoader weightLoader(Peers peers, Handles handles, TensorStore store, Transfers transfers) {
    return new WeightLoader(peers, handles, store, transfers);
  }

  /** Loads the weights and the models, then runs the self-test, which makes the service ready. */
  @Bean
  ApplicationRunner selfTest(
      Catalogue catalogue,
      OpRunner runner,
      DeviceRuntimes runtimes,
      DeviceHealth health,
      WeightLoader loader,
      StoredModels models,
      AthanorProperties properties) {
    var test = new SelfTest(catalogue, runner, runtimes, health);
    return _ -> {
      if (!properties.weights().isEmpty()) {
        loader.load(Path.of(properties.weights()));
      }
      models.restore();
      test.run();
    };
  }

  /** Part of the readiness group in application.yaml. */
  @Bean
  HealthIndicator deviceHealthIndicator(DeviceHealth health) {
    return () -> (health.isReady() ? Health.up() : Health.outOfService()).build();
  }

  /** Part of the liveness group, since a lost device recovers only with a new process. */
  @Bean
  HealthIndicator processHealthIndicator(DeviceHealth health, AthanorProperties properties) {
    return () ->
        (health.isLive(properties.run().deviceLostGracePeriod()) ? Health.up() : Health.down())
            .build();
  }

  @Bean
  InfoContributor deviceInfo(Opened opened) {
    var capability = opened.devices().getFirst().capability();
    return info ->
        info.withDetail("device", String.join(",", opened.ids()))
            .withDetail("deviceName", capability.name())
            .withDetail("target", capability.target().toString())
            .withDetail("driver", capability.driver());
  }

  @Bean
  LoadHistory loadHistory(MeterRegistry registry) {
    return new LoadHistory(registry, Clock.systemUTC());
  }

  /**
   * Samples the load, and removes expired tensors periodically, so that their memory is freed
   * without a request.
   */
  @Bean
  Housekeeping housekeeping(LoadHistory history, TensorStore store, List<IdempotencyKeys<?>> keys) {
    return new Housekeeping(() -> {
      history.sample();
      store.sweep();
      keys.forEach(IdempotencyKeys::sweep);
    });
  }

  /**
   * Runs on a separate thread: reading or freeing memory waits for a device, which may hang, and
   * all scheduled tasks share one thread.
   */
  static final class Housekeeping {
    private final Runnable sweep;
    private final AtomicBoolean sweeping = new AtomicBoolean();

    Housekeeping(Runnable sweep) {
      this.sweep = sweep;
    }

    @Scheduled(fixedDelayString = "PT5S")
    void sweep() {
      if (sweeping.compareAndSet(false, true)) {
        Thread.startVirtualThread(() -> {
          try {
            sweep.run();
          } finally {
            sweeping.set(false);
          }
        });
      }
    }
  }

  @Bean
  Gauges gauges(
      DeviceRuntimes runtimes,
      StreamPool streams,
      TensorStore store,
      InlineMemory inline,
      DeviceHealth health,
      Metrics all) {
    all.gauge(Meters.INLINE_BYTES, inline::used);
    all.gauge(Meters.READY, () -> health.isReady() ? 1 : 0);
    for (var runtime : runtimes.all()) {
      var metrics = runtime.metrics();
      var device = runtime.device();
      metrics.gauge(Meters.DEVICE_LOST, () -> health.isLost(runtime.number()) ? 1 : 0);
      metrics.gauge(Meters.TENSORS, () -> store.count(runtime.memory()));
      metrics.gauge(Meters.TENSOR_BYTES, () -> store.bytes(runtime.memory()));
      metrics.gauge(Meters.TENSOR_SPILLED_BYTES, () -> store.spilled(runtime.memory()));
      metrics.gauge(Meters.DEVICE_MEMORY, () -> device.memory().used(), "used");
      metrics.gauge(Meters.DEVICE_MEMORY, () -> device.memory().free(), "free");
      metrics.gauge(Meters.DEVICE_MEMORY, () -> device.memory().pooled(), "pooled");
      metrics.gauge(Meters.QUEUE_DEPTH, () -> streams.waiting(runtime.number()));
      metrics.gauge(Meters.STREAMS_BUSY, () -> streams.busy(runtime.number()));
      device.busId().flatMap(Gpu::at).ifPresent(gpu -> metrics.gpu(gpu.uuid(), gpu::read));
    }
    return new Gauges();
  }

  /** Marks that the gauges are registered. */
  record Gauges() {}
}
