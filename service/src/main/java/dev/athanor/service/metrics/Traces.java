package dev.athanor.service.metrics;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import org.jspecify.annotations.Nullable;

/** The current trace, in the format of W3C Trace Context. */
public final class Traces {

  /** The response header with the trace, in the format of {@code traceparent}. */
  public static final String RESPONSE = "traceresponse";

  private Traces() {}

  /** Returns the id of the trace; null if there is none. */
  public static @Nullable String id() {
    var context = context();
    return context.isValid() ? context.getTraceId() : null;
  }

  /** Returns the value of {@link #RESPONSE}; null if there is no trace. */
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
