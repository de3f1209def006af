package dev.athanor.service.metrics;

import dev.athanor.service.metrics.Metrics.Phase;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The load of all devices in the last ten minutes, sampled from the meters. */
public final class LoadHistory {

  /** Ten minutes, with a sample every five seconds. */
  static final int SAMPLES = 120;

  /**
   * A sample.
   *
   * @param requests requests to run ops since the start of the service, with failed ones
   * @param errors how many of them failed
   * @param completed runs that completed, including the self-test
   * @param completedMicros the sum of their total times
   * @param queueDepth jobs that wait for a stream
   * @param memoryUsed bytes of device memory in use
   * @param memoryPooled bytes of device memory kept for later allocations
   */
  public record Sample(
      Instant time,
      long requests,
      long errors,
      long completed,
      long completedMicros,
      long queueDepth,
      long streamsBusy,
      long memoryUsed,
      long memoryPooled) {}

  private final MeterRegistry registry;
  private final InstantSource clock;
  private final Deque<Sample> samples = new ArrayDeque<>();

  public LoadHistory(MeterRegistry registry, InstantSource clock) {
    this.registry = registry;
    this.clock = clock;
  }

  /** Takes a sample; called every five seconds. */
  public void sample() {
    long requests = 0;
    long errors = 0;
    for (var counter : registry.find(Meters.OP_REQUESTS.id()).counters()) {
      long count = (long) counter.count();
      requests += count;
      if (!Metrics.OK.equals(counter.getId().getTag("outcome"))) {
        errors += count;
      }
    }
    long completed = 0;
    double micros = 0;
    for (var timer : registry.find(Meters.OP.id()).tag("phase", Phase.TOTAL.text()).timers()) {
      completed += timer.count();
      micros += timer.totalTime(TimeUnit.MICROSECONDS);
    }
    var sample =
        new Sample(
            clock.instant(),
            requests,
            errors,
            completed,
            (long) micros,
            gauge(Meters.QUEUE_DEPTH),
            gauge(Meters.STREAMS_BUSY),
            gauge(Meters.DEVICE_MEMORY, "state", "used"),
            gauge(Meters.DEVICE_MEMORY, "state", "pooled"));
    synchronized (samples) {
      samples.addLast(sample);
      if (samples.size() > SAMPLES) {
        samples.removeFirst();
      }
    }
  }

  /** Returns the sum of a gauge over all devices. */
  private long gauge(Meters meter, String... tags) {
    return (long)
        registry.find(meter.id()).tags(tags).gauges().stream().mapToDouble(Gauge::value).sum();
  }

  /** Returns the samples, the oldest first. */
  public List<Sample> samples() {
    synchronized (samples) {
      return List.copyOf(samples);
    }
  }
}
