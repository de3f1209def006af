package dev.athanor.service.metrics;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import org.jspecify.annotations.Nullable;

/** The trace that the work at hand belongs to, as W3C Trace Context has it. */
public final class Traces {

  /** The header that tells a client so: it has the form of {@code traceparent}. */
  public static final String RESPONSE = "traceresponse";

  private Traces() {}

  /** The id of the trace; null where there is none. */
  public static @Nullable String id() {
    var context = context();
    return context.isValid() ? context.getTraceId() : null;
  }

  /** The value of {@link #RESPONSE}; null where there is no trace. */
  public static @Nullable String response() {
    var context = context();
    return context.isValid()
        ? "00-"
            + context.getTraceId()
            + "-"
            + context.getSpanId()
            + "-"
            + context.getTraceFlags().asHex()
        : null;
  }

  private static SpanContext context() {
    return Span.current().getSpanContext();
  }
}
