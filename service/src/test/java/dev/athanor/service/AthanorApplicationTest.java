package dev.athanor.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.service.config.StartupFailure;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

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
}
