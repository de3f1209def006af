package dev.athanor.client.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpServer;
import dev.athanor.client.Athanor;
import dev.athanor.client.AthanorException;
import dev.athanor.client.HostTensor;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class AthanorClientAutoConfigurationTest {

  private static final String BUSY =
      "{\"type\": \"urn:athanor:problem:queue-full\", \"detail\": \"Queue full.\"}";

  private final ApplicationContextRunner runner =
      new ApplicationContextRunner()
          .withConfiguration(AutoConfigurations.of(AthanorClientAutoConfiguration.class));

  private final List<String> keys = new CopyOnWriteArrayList<>();
  private final HttpServer server;
  private volatile int readiness = 200;

  AthanorClientAutoConfigurationTest() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeEach
  void start() {
    server.createContext(
        "/",
        exchange -> {
          keys.add(String.valueOf(exchange.getRequestHeaders().getFirst("X-API-Key")));
          exchange.getRequestBody().readAllBytes();
          boolean ready = exchange.getRequestURI().getPath().equals("/readyz");
          var body = (ready ? "{}" : BUSY).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(ready ? readiness : 429, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private ApplicationContextRunner configured() {
    return runner.withPropertyValues(
        "athanor.client.url=http://127.0.0.1:" + server.getAddress().getPort(),
        "athanor.client.api-key=secret",
        "athanor.client.deadline=20s",
        "athanor.client.max-retries=1",
        "athanor.client.replicas.athanor-1=http://127.0.0.1:1");
  }

  @Test
  void configuresNothingWithoutAUrl() {
    runner.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Athanor.class));
  }

  @Test
  void configuresTheClientByProperties() {
    configured()
        .run(context -> {
          var athanor = context.getBean(Athanor.class);
          assertThatExceptionOfType(AthanorException.class)
              .isThrownBy(() -> athanor.relu(HostTensor.scalar(1)))
              .satisfies(e -> assertThat(e.code()).isEqualTo("queue-full"));
          assertThat(keys).containsExactly("secret", "secret");
        });
  }

  @Test
  void usesTheApplicationsOwnClient() {
    var own = Athanor.connect("http://127.0.0.1:1");
    configured()
        .withBean(Athanor.class, () -> own)
        .run(context -> assertThat(context.getBean(Athanor.class)).isSameAs(own));
  }

  @Test
  void appliesCustomizers() {
    configured()
        .withBean(AthanorBuilderCustomizer.class, () -> builder -> builder.apiKey("other"))
        .run(context -> {
          context.getBean(Athanor.class).ready();
          assertThat(keys).containsExactly("other");
        });
  }

  @Test
  void timesCallsByOperationAndOutcome() {
    configured()
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .run(context -> {
          var athanor = context.getBean(Athanor.class);
          athanor.ready();
          assertThatExceptionOfType(AthanorException.class)
              .isThrownBy(() -> athanor.relu(HostTensor.scalar(1)));
          var registry = context.getBean(MeterRegistry.class);
          var timer =
              registry
                  .get("athanor.client.requests")
                  .tags("op", "relu", "outcome", "queue-full")
                  .timer();
          assertThat(timer.count()).isEqualTo(1);
          assertThat(timer.totalTime(TimeUnit.NANOSECONDS)).isPositive();
          assertThat(
                  registry
                      .get("athanor.client.requests")
                      .tags("op", "ready", "outcome", "ok")
                      .timer())
              .isNotNull();
        });
  }

  @Test
  void reportsTheHealthOfTheService() {
    configured()
        .run(context -> {
          var indicator = context.getBean("athanorHealthIndicator", HealthIndicator.class);
          var health = Objects.requireNonNull(indicator.health());
          assertThat(health.getStatus()).isEqualTo(Status.UP);
          assertThat(health.getDetails()).containsKey("url");
          readiness = 503;
          assertThat(status(indicator)).isEqualTo(Status.OUT_OF_SERVICE);
          server.stop(0);
          assertThat(status(indicator)).isEqualTo(Status.DOWN);
        });
    configured()
        .withPropertyValues("management.health.athanor.enabled=false")
        .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
  }

  private static Status status(HealthIndicator indicator) {
    return Objects.requireNonNull(indicator.health()).getStatus();
  }

  @Test
  void worksWithoutMicrometerAndHealth() {
    configured()
        .withClassLoader(new FilteredClassLoader(MeterRegistry.class, HealthIndicator.class))
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Athanor.class));
  }

  @Test
  void describesItsProperties() throws IOException {
    var metadata = "META-INF/spring-configuration-metadata.json";
    try (var in = getClass().getClassLoader().getResourceAsStream(metadata)) {
      assertThat(in).isNotNull();
      assertThat(new String(in.readAllBytes(), StandardCharsets.UTF_8))
          .contains("athanor.client.url", "athanor.client.api-key", "Maximum duration of a call");
    }
  }
}
