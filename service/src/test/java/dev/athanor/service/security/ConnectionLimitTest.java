package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class ConnectionLimitTest {

  private static int limit(@Nullable Integer configured, long heapMib, long openFiles) {
    return new ConnectionLimit(
            "REST", "server.tomcat.max-connections", configured, heapMib << 20, openFiles, 2)
        .connections();
  }

  @ParameterizedTest
  @CsvSource({"16, 64", "512, 512", "65536, 4096"})
  void defaultDependsOnTheHeap(long heapMib, int connections) {
    assertThat(limit(null, heapMib, 1_000_000)).isEqualTo(connections);
  }

  @Test
  void configuredLimitIsKeptIfFilesSuffice(CapturedOutput log) {
    assertThat(limit(40, 512, 80)).isEqualTo(40);
    assertThat(limit(-1, 512, Long.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
    assertThat(log.getAll()).isEmpty();
  }

  @Test
  void connectionsTakeAtMostHalfOfTheOpenFiles(CapturedOutput log) {
    assertThat(limit(null, 4096, 1024)).isEqualTo(512);
    assertThat(limit(10_000, 512, 2048)).isEqualTo(1024);
    assertThat(limit(-1, 512, 4096)).isEqualTo(2048);
    assertThat(log)
        .contains(
            "REST accepts at most 512 connections instead of 4096 (server.tomcat.max-connections), since the process may open only 1024 files (ulimit -n)",
            "REST accepts at most 1024 connections instead of 10000 (server.tomcat.max-connections), since the process may open only 2048 files (ulimit -n)",
            "REST accepts at most 2048 connections instead of any number (server.tomcat.max-connections), since the process may open only 4096 files (ulimit -n)");
  }

  @Test
  void protocolsShareTheOpenFiles() {
    int rest = ConnectionLimit.rest(-1).connections();
    assertThat(ConnectionLimit.grpc(-1).connections()).isEqualTo(rest / 2);
    assertThat(ConnectionLimit.grpc(7).connections()).isEqualTo(7);
  }
}
