package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.tensor.Tenant;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.TracerProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.catalina.connector.ClientAbortException;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.http.HttpStatus;
import org.springframework.http.converter.HttpMessageNotWritableException;
import org.springframework.security.web.firewall.RequestRejectedException;
import org.springframework.web.server.ResponseStatusException;
import tools.jackson.core.exc.JacksonIOException;

class OutcomesTest {

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Metrics metrics =
      new Metrics(
          registry, TracerProvider.noop().get("test"), "fake:0", new MetricsSettings(false));

  /** Every outcome is counted, in both protocols. */
  @Test
  void countsEveryOutcome() {
    var failures =
        Map.of("draining", Failure.Busy.draining(), "internal", new IllegalStateException("a bug"));
    failures.forEach((outcome, failure) -> {
      Outcomes.Request request =
          () -> {
            throw failure;
          };
      assertThat(catchThrowable(() -> Outcomes.count(metrics, Tenant.LOCAL, "rest", request)))
          .isEqualTo(failure);
      assertThat(
              catchThrowable(() ->
                  metrics.counted(
                      Tenant.LOCAL,
                      "grpc",
                      () -> {
                        throw failure;
                      })))
          .isEqualTo(failure);
      assertThat(count("rest", outcome)).isEqualTo(1);
      assertThat(count("grpc", outcome)).isEqualTo(1);
    });
    Outcomes.Request disconnect =
        () -> {
          throw new IOException("broken pipe");
        };
    assertThat(catchThrowable(() -> Outcomes.count(metrics, Tenant.LOCAL, "rest", disconnect)))
        .isInstanceOf(IOException.class);
    assertThat(count("rest", "cancelled")).isEqualTo(1);
  }

  static Stream<Arguments> actionsOfClients() {
    var lost = new ClientAbortException(new IOException("Connection reset by peer"));
    return Stream.of(
        Arguments.of("cancelled", lost),
        Arguments.of("cancelled", new UncheckedIOException(lost)),
        Arguments.of("cancelled", JacksonIOException.construct(lost)),
        Arguments.of("cancelled", new HttpMessageNotWritableException("lost", lost)),
        Arguments.of("malformed-body", new InvalidParameterException("%zz")),
        Arguments.of("malformed-body", new RequestRejectedException("a null character")),
        Arguments.of("not-acceptable", new HttpMessageNotWritableException("UTF-16")),
        Arguments.of("not-found", new ResponseStatusException(HttpStatus.NOT_FOUND)));
  }

  /** Otherwise clients could fire the alert for internal errors. */
  @ParameterizedTest
  @MethodSource
  void actionsOfClients(String outcome, Exception thrown) {
    Outcomes.Request request =
        () -> {
          switch (thrown) {
            case RuntimeException e -> throw e;
            case IOException e -> throw e;
            default -> throw new AssertionError(thrown);
          }
        };
    assertThat(catchThrowable(() -> Outcomes.count(metrics, Tenant.LOCAL, "rest", request)))
        .isSameAs(thrown);
    assertThat(count("rest", outcome)).isEqualTo(1);
  }

  private double count(String op, String outcome) {
    return registry.get("athanor.op.requests").tags("op", op, "outcome", outcome).counter().count();
  }
}
