package dev.athanor.service.run;

import dev.athanor.engine.device.Device;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.tune.Planner;
import dev.athanor.service.TestClock;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.device.RunSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.QuotaSettings;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Placement;
import dev.athanor.service.transfer.Transfers;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.TracerProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/** Devices and the components that run ops on them, assembled without Spring. */
public final class Rig implements AutoCloseable {

  public final TestClock clock = new TestClock();
  public final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final int graphs;
  public final DeviceHealth health;
  public final DeviceRuntimes runtimes;
  public final RunSettings settings;
  final DeviceMemory memory;
  public final TensorStore store;
  public final StreamPool pool;
  private final Placement placement;
  public final OpRunner runner;
  public final Transfers transfers;
  public final InlineMemory inline;

  /**
   * Creates a rig with one device.
   *
   * @param queue maximum number of waiting jobs
   */
  public Rig(Device device, Planner planner, int streams, int queue, TensorSettings tensors) {
    this(List.of(device), planner, streams, queue, tensors);
  }

  /**
   * Creates a rig with several devices that share a planner, without graphs.
   *
   * @param queue maximum number of waiting jobs
   */
  public Rig(
      List<? extends Device> devices,
      Planner planner,
      int streams,
      int queue,
      TensorSettings tensors) {
    this(devices, planner, streams, queue, tensors, 0);
  }

  /**
   * Creates a rig with several devices that share a planner.
   *
   * @param queue maximum number of waiting jobs
   * @param graphs maximum number of cached graphs per device
   */
  public Rig(
      List<? extends Device> devices,
      Planner planner,
      int streams,
      int queue,
      TensorSettings tensors,
      int graphs) {
    this.graphs = graphs;
    health = new DeviceHealth(devices.stream().map(one -> one.capability().id()).toList());
    settings = settings(streams, queue, true, graphs);
    var all = new ArrayList<DeviceRuntime>();
    for (var device : devices) {
      all.add(
          new DeviceRuntime(
              device,
              new DeviceMemory(all.size(), device, health, settings),
              planner,
              new KernelCache(device),
              new Metrics(
                  registry,
                  TracerProvider.noop().get("test"),
                  device.capability().id(),
                  new MetricsSettings(false)),
              settings));
    }
    runtimes = new DeviceRuntimes(all);
    memory = runtimes.first().memory();
    store = new TensorStore(new Handles(""), tensors, clock);
    runtimes.onShortage(store::spillIdle);
    pool = new StreamPool(List.copyOf(devices), health, settings, QuotaSettings.NONE);
    placement = new Placement(runtimes, store, pool);
    runner = runner(true);
    transfers = new Transfers(placement, store, pool);
    inline = new InlineMemory(runtimes, settings, QuotaSettings.NONE);
  }

  static RunSettings settings(
      int streams, int queue, boolean batchInvariant, @Nullable Integer graphs) {
    return new RunSettings(
        streams,
        queue,
        Duration.ofHours(1),
        DataSize.ofMegabytes(64),
        DataSize.ofMegabytes(2),
        DataSize.ofMegabytes(4),
        batchInvariant,
        false,
        Duration.ofHours(1),
        100,
        graphs,
        Duration.ZERO,
        Duration.ofHours(1),
        Duration.ZERO,
        Duration.ofHours(1),
        Duration.ZERO);
  }

  /** Creates another runner on the same streams. */
  OpRunner runner(boolean batchInvariant) {
    return new OpRunner(
        runtimes, placement, (_, _) -> {}, store, pool, settings(1, 1, batchInvariant, graphs));
  }

  /** Uploads a tensor. */
  public TensorInfo create(HostTensor tensor, TensorOptions options, RequestContext context) {
    var charge = store.of(context.tenant()).charge(tensor.type().bytes());
    try {
      return transfers.create(Elements.of(tensor), charge, options, context);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Replaces the contents of a tensor. */
  TensorInfo replace(
      String handle, HostTensor contents, LongPredicate matches, RequestContext context) {
    try {
      return transfers.replace(handle, Elements.of(contents), matches, context);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns a copy of a context that uses the given request memory. */
  public static RequestContext in(RequestMemory memory, RequestContext context) {
    return new RequestContext(
        context.tenant(),
        context.account(),
        context.priority(),
        context.mayPrioritize(),
        context.deadline(),
        context.clientHasGone(),
        memory,
        context.rowInvariant());
  }

  @Override
  public void close() {
    pool.close();
    runtimes
        .all()
        .forEach(runtime -> {
          runtime.forgetPlans();
          runtime.memory().close();
        });
  }
}
