package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.mock.env.MockEnvironment;

/** Tests the allowed addresses of a service without authentication. */
@ExtendWith(OutputCaptureExtension.class)
class ListenersTest {

  private static Listeners listeners(String... properties) {
    var environment = new MockEnvironment();
    // by default, these tests vary only REST and management
    environment.setProperty("spring.grpc.server.address", "127.0.0.1");
    for (var property : properties) {
      int equals = property.indexOf('=');
      environment.setProperty(property.substring(0, equals), property.substring(equals + 1));
    }
    return Listeners.of(environment);
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
  void allowsLoopback(String address) {
    var listeners = listeners("server.address=" + address, "management.server.port=8081");
    assertThatCode(() -> listeners.checkLoopback(false)).doesNotThrowAnyException();
    assertThat(listeners.managementIsApart()).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "server.address=0.0.0.0 | server.address is 0.0.0.0",
        "server.address=:: | server.address is ::",
        "server.address=10.1.2.3 | server.address is 10.1.2.3",
        "server.port=80 | server.address is not set, which means all addresses",
      })
  void rejectsOtherAddresses(String property, String sentence) {
    assertThatThrownBy(() -> listeners(property).checkLoopback(false))
        .isInstanceOf(SecurityMisconfigured.class)
        .hasMessage(
            sentence
                + ", and athanor.security.mode is none, so anyone could call; set the mode to api-key,"
                + " jwt or mtls, bind to a loopback address, or set athanor.security.allow-unauthenticated");
  }

  @Test
  void checksManagement() {
    assertThatThrownBy(() ->
            listeners(
                    "server.address=127.0.0.1",
                    "management.server.port=8081",
                    "management.server.address=0.0.0.0")
                .checkLoopback(false))
        .hasMessageStartingWith("management.server.address is 0.0.0.0, and");
    assertThat(listeners("server.address=127.0.0.1", "management.server.address=0.0.0.0"))
        .isEqualTo(listeners("server.address=127.0.0.1", "management.server.port=8080"))
        .isEqualTo(listeners("server.address=127.0.0.1", "management.server.port=-1"));
  }

  @Test
  void canBeAllowedWithAWarning(CapturedOutput output) {
    listeners("server.address=0.0.0.0").checkLoopback(true);
    assertThat(output).contains("WARN", "OPEN TO ANYONE: server.address is 0.0.0.0, ");
  }
}
