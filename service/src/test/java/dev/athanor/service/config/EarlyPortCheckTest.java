package dev.athanor.service.config;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that a port in use is detected before Spring Boot starts, unless a configuration file may
 * choose another.
 */
class EarlyPortCheckTest {

  @TempDir Path folder;
  private final ServerSocket occupied;

  EarlyPortCheckTest() throws IOException {
    occupied = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void release() throws IOException {
    occupied.close();
  }

  private Map<String, Object> options(String... more) {
    var options = new HashMap<String, Object>();
    options.put("server.port", 0);
    options.put("spring.grpc.server.port", occupied.getLocalPort());
    for (int i = 0; i < more.length; i += 2) {
      options.put(more[i], more[i + 1]);
    }
    return options;
  }

  @Test
  void rejectsAPortInUse() {
    assertThatThrownBy(() -> PortCheck.checkEarly(options(), folder))
        .hasMessage(
            "port %d is in use; stop the program that uses it or choose another port with --grpc-port",
            occupied.getLocalPort());
  }

  @ParameterizedTest
  @ValueSource(strings = {"application.yaml", "application-gpu.properties", "config"})
  void skipsTheCheckIfConfigurationFilesExist(String file) throws IOException {
    Files.createFile(folder.resolve(file));
    assertThatCode(() -> PortCheck.checkEarly(options(), folder)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "spring.config.additional-location",
        "SPRING_CONFIG_IMPORT",
        "spring.profiles.active",
        "SPRING_APPLICATION_JSON"
      })
  void skipsTheCheckIfSettingsNameConfigurationFiles(String name) {
    assertThatCode(() -> PortCheck.checkEarly(options(name, "x"), folder))
        .doesNotThrowAnyException();
  }

  @Test
  void checksTheServerAddressForGrpc() {
    assertThatThrownBy(() -> PortCheck.checkEarly(options("server.address", "192.0.2.1"), folder))
        .hasMessage("--bind 192.0.2.1: not an address of this machine");
  }
}
