package dev.athanor.service.run;

import dev.athanor.engine.device.Device;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.tune.Planner;
import dev.athanor.service.TestClock;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.service.tensor.TensorStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.TracerProvider;
import java.time.Duration;
import org.springframework.util.unit.DataSize;

/** A device and all that is needed to run ops on it, put together without Spring. */
final class Rig implements AutoCloseable {

  final TestClock clock = new TestClock();
  final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Device device;
  private final Planner planner;
  final DeviceHealth health = new DeviceHealth();
  final DeviceMemory memory;
  final TensorStore store;
  final StreamPool pool;
  final OpRunner runner;
  final Transfers transfers;

  /**
   * A service.
   *
   * @param queue how many jobs may wait
   */
  Rig(Device device, Planner planner, int streams, int queue, TensorSettings tensors) {
    memory = new DeviceMemory(device, health);
    store = new TensorStore(new Handles(""), tensors, clock, memory::free);
    memory.onShortage(store::sweep);
    pool = new StreamPool(device, health, settings(streams, queue, true));
    this.device = device;
    this.planner = planner;
    runner = runner(true);
    transfers = new Transfers(memory, store, pool);
  }

  private static RunSettings settings(int streams, int queue, boolean batchInvariant) {
    return new RunSettings(
        streams,
        queue,
        Duration.ofMinutes(10),
        DataSize.ofMegabytes(64),
        batchInvariant,
        100,
        Duration.ZERO,
        Duration.ofSeconds(30),
        Duration.ZERO);
  }

  /** Another runner on the same streams. */
  OpRunner runner(boolean batchInvariant) {
    return new OpRunner(
        planner,
        _ -> {},
        new KernelCache(device),
        memory,
        store,
        pool,
        new Metrics(
            registry,
            TracerProvider.noop().get("test"),
            device.capability().id(),
            new MetricsSettings(false)),
        settings(1, 1, batchInvariant));
  }

  /** Makes a tensor resident. */
  TensorInfo create(HostTensor tensor, TensorOptions options, Terms terms) {
    var charge = store.of(terms.tenant()).charge(tensor.type().bytes());
    return transfers.create(tensor, charge, options, terms);
  }

  @Override
  public void close() {
    pool.close();
    memory.close();
  }
}
