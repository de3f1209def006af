package dev.athanor.service.metrics;

import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.service.failure.Failure;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Records what {@link Meters} lists, for one device. */
public final class Metrics {

  /** The parts of a call. */
  public enum Phase {
    QUEUE,
    UPLOAD,
    KERNEL,
    DOWNLOAD,
    TOTAL;

    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** From 10 µs to 10 s. */
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

  private static final double[] BATCHES = {1, 2, 4, 8, 16, 32, 64};

  private final MeterRegistry registry;
  private final String device;
  private final @Nullable TritonNames triton;

  public Metrics(MeterRegistry registry, String device, MetricsSettings settings) {
    this(registry, device, settings.triton() ? new TritonNames(registry) : null);
  }

  private Metrics(MeterRegistry registry, String device, @Nullable TritonNames triton) {
    this.registry = registry;
    this.device = device;
    this.triton = triton;
  }

  /** The same of another device. */
  public Metrics of(String other) {
    return new Metrics(registry, other, triton);
  }

  /** A phase of an op took so long. */
  public void time(String op, String dtype, Phase phase, double micros) {
    Timer.builder(Meters.OP.id())
        .description(Meters.OP.description())
        .tags(tags(Meters.OP, op, dtype, phase.text()))
        .serviceLevelObjectives(BUCKETS)
        .register(registry)
        .record((long) (micros * 1_000), TimeUnit.NANOSECONDS);
    if (triton != null) {
      triton.phase(op, phase, micros);
    }
  }

  /** A launch of an op did so many calls. */
  public void launch(String op, int calls) {
    DistributionSummary.builder(Meters.BATCH_SIZE.id())
        .description(Meters.BATCH_SIZE.description())
        .tags(tags(Meters.BATCH_SIZE, op))
        .serviceLevelObjectives(BATCHES)
        .register(registry)
        .record(calls);
    if (triton != null) {
      triton.launch(op, calls);
    }
  }

  /** A pipeline runs as a graph. */
  public void graphLaunch() {
    counter(Meters.GRAPH_LAUNCHES).increment();
  }

  /** An op was asked for, with this outcome. */
  public void request(String op, String outcome) {
    counter(Meters.OP_REQUESTS, op, outcome).increment();
    if (triton != null) {
      triton.request(op, outcome);
    }
  }

  /**
   * Does what an op was asked for and counts it by its outcome.
   *
   * @param op the name of one that there is, or clients could grow the metrics
   */
  public <T> T counted(String op, Supplier<T> work) {
    try {
      var result = work.get();
      request(op, "ok");
      return result;
    } catch (Failure e) {
      request(op, e.code().text());
      throw e;
    }
  }

  /** An op did this much work. */
  public void work(String op, double flops, double bytes) {
    counter(Meters.OP_FLOPS, op).increment(flops);
    counter(Meters.OP_BYTES, op).increment(bytes);
  }

  /** A kernel was looked up. */
  public void kernelLoad(Origin origin) {
    counter(Meters.KERNEL_LOADS, origin.name().toLowerCase(Locale.ROOT)).increment();
  }

  /** Shows a value whenever the metrics are read. */
  public void gauge(Meters meter, DoubleSupplier value, String... labels) {
    Gauge.builder(meter.id(), value::getAsDouble)
        .description(meter.description())
        .tags(tags(meter, labels))
        .strongReference(true)
        .register(registry);
  }

  private Counter counter(Meters meter, String... labels) {
    return Counter.builder(meter.id())
        .description(meter.description())
        .tags(tags(meter, labels))
        .register(registry);
  }

  private List<Tag> tags(Meters meter, String... values) {
    var tags = new ArrayList<Tag>();
    tags.add(Tag.of("device", device));
    for (int i = 0; i < values.length; i++) {
      tags.add(Tag.of(meter.labels().get(i), values[i]));
    }
    return tags;
  }
}
