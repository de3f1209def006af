package dev.athanor.service.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingAutoConfiguration;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.otlp.OtlpTracingAutoConfiguration;
import org.springframework.boot.opentelemetry.autoconfigure.OpenTelemetrySdkAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Tests the export of spans to a configured collector, with Java's HTTP client. */
class OtlpTest {

  private final ApplicationContextRunner context =
      new ApplicationContextRunner()
          .withConfiguration(
              AutoConfigurations.of(
                  OpenTelemetrySdkAutoConfiguration.class,
                  OpenTelemetryTracingAutoConfiguration.class,
                  OtlpTracingAutoConfiguration.class))
          .withPropertyValues("management.tracing.sampling.probability=1");

  @Test
  void exportsNothingWithoutAnEndpoint() {
    context.run(it -> assertThat(it).hasNotFailed().doesNotHaveBean(SpanExporter.class));
  }

  @Test
  void spansReachTheEndpoint() throws IOException {
    var received = new CompletableFuture<String>();
    var collector =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    collector.createContext(
        "/v1/traces",
        exchange -> {
          var body = exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
          received.complete(
              exchange.getRequestHeaders().getFirst("Content-Type")
                  + new String(body, StandardCharsets.ISO_8859_1));
        });
    collector.start();
    try {
      context
          .withPropertyValues(
              "management.opentelemetry.tracing.export.otlp.endpoint=http://127.0.0.1:%d/v1/traces"
                  .formatted(collector.getAddress().getPort()))
          .run(it -> {
            it.getBean(Tracer.class).spanBuilder("test span").startSpan().end();
            it.getBean(SdkTracerProvider.class).forceFlush().join(1, TimeUnit.HOURS);
            assertThat(received)
                .succeedsWithin(1, TimeUnit.HOURS)
                .asString()
                .startsWith("application/x-protobuf")
                .contains("test span");
          });
    } finally {
      collector.stop(0);
    }
  }
}
