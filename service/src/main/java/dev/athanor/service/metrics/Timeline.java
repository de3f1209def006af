package dev.athanor.service.metrics;

import dev.athanor.service.metrics.Metrics.Phase;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Tracer;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Adds the phases of a call as consecutive child spans of the request. */
public final class Timeline {

  private static final AttributeKey<String> OP = AttributeKey.stringKey("athanor.op");
  private static final AttributeKey<String> DEVICE = AttributeKey.stringKey("athanor.device");
  private static final AttributeKey<String> KERNEL = AttributeKey.stringKey("athanor.kernel");

  private final Tracer tracer;
  private final String device;

  /** The start of the next phase, in nanoseconds since 1970. */
  private long at;

  Timeline(Tracer tracer, String device, long began) {
    this.tracer = tracer;
    this.device = device;
    var now = Instant.now();
    at =
        TimeUnit.SECONDS.toNanos(now.getEpochSecond())
            + now.getNano()
            - (System.nanoTime() - began);
  }

  /**
   * Adds the next phase.
   *
   * @param kernel the kernel that ran; null if none
   */
  public void add(Phase phase, String op, @Nullable String kernel, double micros) {
    var span =
        tracer
            .spanBuilder(phase.text())
            .setStartTimestamp(at, TimeUnit.NANOSECONDS)
            .setAttribute(OP, op)
            .setAttribute(DEVICE, device);
    if (kernel != null) {
      span.setAttribute(KERNEL, kernel);
    }
    at += (long) (micros * 1_000);
    span.startSpan().end(at, TimeUnit.NANOSECONDS);
  }
}
