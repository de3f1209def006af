package dev.athanor.service.metrics;

import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.nvml.Sensor;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.tensor.Tenant;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Records the meters of {@link Meters} and trace spans for one device. */
public final class Metrics {

  /** The phases of a call. */
  public enum Phase {
    PREPARE,
    QUEUE,
    UPLOAD,
    KERNEL,
    DOWNLOAD,
    TOTAL;

    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Histogram buckets from 10 µs to 10 s. */
  private static final Duration[] BUCKETS =
      LongStream.of(
              10,
              25,
              50,
              100,
              250,
              500,
              1_000,
              2_500,
              5_000,
              10_000,
              25_000,
              50_000,
              100_000,
              250_000,
              500_000,
              1_000_000,
              2_500_000,
              5_000_000,
              10_000_000)
          .mapToObj(micros -> Duration.ofNanos(micros * 1_000))
          .toArray(Duration[]::new);

  /** The outcome of a request that did not fail. */
  static final String OK = "ok";

  private static final double[] BATCHES = {1, 2, 4, 8, 16, 32, 64};

  private final MeterRegistry registry;
  private final String device;
  private final @Nullable TritonNames triton;
  private final Tracer tracer;
  private final RecentRequests recent;

  /** The labels of a timer besides the device. */
  private record Timed(String op, String dtype, Phase phase) {}

  private record Counted(Meters meter, List<String> labels) {}

  // caches, since a registry lookup takes longer than a small op
  private final Map<Timed, Timer> timers = new ConcurrentHashMap<>();
  private final Map<Counted, Counter> counters = new ConcurrentHashMap<>();
  private final Map<String, DistributionSummary> batchSizes = new ConcurrentHashMap<>();

  public Metrics(MeterRegistry registry, Tracer tracer, String device, MetricsSettings settings) {
    this(
        registry,
        tracer,
        device,
        settings.triton() ? new TritonNames(registry) : null,
        new RecentRequests(InstantSource.system()));
  }

  private Metrics(
      MeterRegistry registry,
      Tracer tracer,
      String device,
      @Nullable TritonNames triton,
      RecentRequests recent) {
    this.registry = registry;
    this.tracer = tracer;
    this.device = device;
    this.triton = triton;
    this.recent = recent;
  }

  /** Returns metrics for another device. */
  public Metrics of(String other) {
    return new Metrics(registry, tracer, other, triton, recent);
  }

  /** Returns the slowest and the failed requests of all devices. */
  public RecentRequests recent() {
    return recent;
  }

  /** Records a request that the current thread has run. */
  public void ran(Tenant tenant, String op, ToDoubleFunction<Phase> micros) {
    recent.ran(tenant, op, device, micros);
  }

  /** Records the duration of a phase. */
  public void time(String op, String dtype, Phase phase, double micros) {
    timers
        .computeIfAbsent(new Timed(op, dtype, phase), this::timer)
        .record((long) (micros * 1_000), TimeUnit.NANOSECONDS);
    if (triton != null) {
      triton.phase(op, phase, micros);
    }
  }

  private Timer timer(Timed of) {
    return Timer.builder(Meters.OP.id())
        .description(Meters.OP.description())
        .tags(tags(Meters.OP, List.of(of.op, of.dtype, of.phase.text())))
        .serviceLevelObjectives(BUCKETS)
        .register(registry);
  }

  /**
   * Returns the timeline of a call; empty if the current trace is not recorded.
   *
   * @param began when the call began, as {@link System#nanoTime()}
   */
  public Optional<Timeline> timeline(long began) {
    return Span.current().isRecording()
        ? Optional.of(new Timeline(tracer, device, began))
        : Optional.empty();
  }

  /** Records a launch and its batch size. */
  public void launch(String op, int calls) {
    batchSizes.computeIfAbsent(op, this::batchSize).record(calls);
    if (triton != null) {
      triton.launch(op, calls);
    }
  }

  private DistributionSummary batchSize(String op) {
    return DistributionSummary.builder(Meters.BATCH_SIZE.id())
        .description(Meters.BATCH_SIZE.description())
        .tags(tags(Meters.BATCH_SIZE, List.of(op)))
        .serviceLevelObjectives(BATCHES)
        .register(registry);
  }

  /** Counts a launch of a captured graph. */
  public void graphLaunch() {
    counter(Meters.GRAPH_LAUNCHES).increment();
  }

  /** Counts a forwarded request by outcome. */
  public void forwarded(String outcome) {
    counter(Meters.FORWARDED_REQUESTS, outcome).increment();
  }

  /** Counts a request by outcome. */
  public void request(String op, String outcome) {
    counter(Meters.OP_REQUESTS, op, outcome).increment();
    if (triton != null) {
      triton.request(op, outcome);
    }
  }

  /**
   * Runs a request and records its outcome.
   *
   * @param op the label of the op; must not be an arbitrary name, since clients could then create
   *     metrics
   */
  public <T> T counted(Tenant tenant, String op, Supplier<T> work) {
    try {
      var result = work.get();
      succeeded(op);
      return result;
    } catch (RuntimeException | Error e) {
      failed(tenant, op, e);
      throw e;
    }
  }

  /** Counts a request that did not fail. */
  public void succeeded(String op) {
    request(op, OK);
  }

  /** Records a failed request; unexpected exceptions count as {@code internal}. */
  public void failed(Tenant tenant, String op, Throwable thrown) {
    var failure =
        switch (thrown) {
          case Failure known -> known;
          case IOException _, UncheckedIOException _ -> Failure.clientGone();
          default ->
              new Failure.Refused(
                  Failure.Code.INTERNAL, "Internal error; see the log of the service");
        };
    var code = failure.code().text();
    request(op, code);
    recent.failed(tenant, op, code, String.valueOf(failure.getMessage()));
  }

  /** Counts the work of an op. */
  public void work(String op, double flops, double bytes) {
    counter(Meters.OP_FLOPS, op).increment(flops);
    counter(Meters.OP_BYTES, op).increment(bytes);
  }

  /** Counts a kernel lookup. */
  public void kernelLoad(Origin origin) {
    counter(Meters.KERNEL_LOADS, origin.name().toLowerCase(Locale.ROOT)).increment();
  }

  /** Registers a gauge. */
  public void gauge(Meters meter, DoubleSupplier value, String... labels) {
    Gauge.builder(meter.id(), value::getAsDouble)
        .description(meter.description())
        .tags(tags(meter, List.of(labels)))
        .strongReference(true)
        .register(registry);
  }

  /**
   * Registers the sensors of a GPU.
   *
   * @param read reads the sensors; called on a scrape, at most every two seconds
   */
  public void gpu(String uuid, Supplier<Map<Sensor, Double>> read) {
    var meters = new GpuMeters(registry, device, read, System::nanoTime);
    meters.register();
    if (triton != null) {
      meters.registerAsTriton(uuid);
    }
  }

  private Counter counter(Meters meter, String... labels) {
    return counters.computeIfAbsent(
        new Counted(meter, List.of(labels)),
        of ->
            Counter.builder(meter.id())
                .description(meter.description())
                .tags(tags(meter, of.labels))
                .register(registry));
  }

  private List<Tag> tags(Meters meter, List<String> values) {
    return tags(device, meter, values);
  }

  static List<Tag> tags(String device, Meters meter, List<String> values) {
    var tags = new ArrayList<Tag>();
    tags.add(Tag.of("device", device));
    for (int i = 0; i < values.size(); i++) {
      tags.add(Tag.of(meter.labels().get(i), values.get(i)));
    }
    return tags;
  }
}
