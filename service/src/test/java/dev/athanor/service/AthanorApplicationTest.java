package dev.athanor.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.service.config.StartupFailure;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.event.ApplicationFailedEvent;

/** Tests failed starts of the application. */
class AthanorApplicationTest {

  @Test
  void explainsAPortInUse() throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var failure =
          catchThrowable(() -> AthanorApplication.start("--server.port=" + taken.getLocalPort()));
      assertThat(StartupFailure.of(failure))
          .hasValueSatisfying(
              known -> assertThat(known.sentence()).contains("port " + taken.getLocalPort()));
    }
  }

  /** The failed service has listened, but it was never ready. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void explainsUnusableWeightsAndIsNotReadyBefore(@TempDir Path folder) throws IOException {
    var file = Files.write(folder.resolve("w.gguf"), new byte[8]);
    var statuses = new ArrayList<Integer>();
    var application = new SpringApplication(AthanorApplication.class);
    application.addListeners((ApplicationFailedEvent event) -> {
      var context = Objects.requireNonNull(event.getApplicationContext());
      var port = context.getEnvironment().getProperty("local.server.port");
      for (var path : List.of("/readyz", "/v2/health/ready")) {
        statuses.add(RestAssured.get("http://127.0.0.1:" + port + path).statusCode());
      }
    });

    var failure =
        catchThrowable(() ->
            application.run(
                "--server.port=0",
                "--spring.grpc.server.port=0",
                "--athanor.device=emulator",
                "--athanor.weights=" + folder));

    assertThat(StartupFailure.of(failure))
        .contains(
            new StartupFailure(
                "cannot load %s: a GGUF file must begin with the letters GGUF".formatted(file),
                true));
    assertThat(statuses).containsExactly(503, 503);
  }
}
