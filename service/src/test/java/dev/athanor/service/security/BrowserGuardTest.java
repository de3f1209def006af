package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.failure.Failure;
import java.time.Duration;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BrowserGuardTest {

  private final BrowserGuard guard = new BrowserGuard(true, true, Set.of("box.example"));

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost",
        "LocalHost:8080",
        "app.localhost",
        "127.0.0.1:8080",
        "127.1.2.3",
        "[::1]:8080",
        "[::1]",
        "box.example:80"
      })
  void acceptsLoopbackAndAllowedNames(String host) {
    assertThat(guard.refusal(host, null)).isEmpty();
    assertThat(guard.refusal(host, "http://" + host)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "notlocalhost:8080",
        "192.168.1.1",
        "0.0.0.0",
        "",
        "x.box.example"
      })
  void refusesForeignNames(String host) {
    assertThat(guard.refusal(host, null).map(Failure::field)).contains("Host");
  }

  @ParameterizedTest
  @CsvSource({
    "localhost:8080, https://evil.example",
    "localhost:8080, http://localhost:3000",
    "localhost:8080, http://localhost",
    "localhost:8080, null",
    "localhost:8080, http://",
    "localhost:8080, ''",
    "localhost:8080, localhost:8080",
    "localhost:8080, http://a b"
  })
  void refusesForeignOrigins(String host, String origin) {
    assertThat(guard.refusal(host, origin).map(Failure::field)).contains("Origin");
  }

  @Test
  void trustsPagesOfAllowedHosts() {
    assertThat(guard.refusal("localhost:8080", "https://box.example")).isEmpty();
  }

  @Test
  void acceptsRequestsWithoutBothHeaders() {
    assertThat(guard.refusal(null, null)).isEmpty();
  }

  @Test
  void explainsWhatToDo() {
    assertThat(guard.refusal("evil.example", null).map(Failure::getMessage))
        .contains(
            "Host is \"evil.example\"; without authentication the service accepts only loopback names such as localhost. Add other names to athanor.security.allowed-hosts or set athanor.security.mode.");
    assertThat(guard.refusal("localhost", "https://evil.example").map(Failure::getMessage))
        .contains(
            "Origin is \"https://evil.example\"; the service refuses requests of web pages from other origins. Add its host to athanor.security.allowed-hosts to trust it.");
  }

  /**
   * Keys and tokens are headers, which pages cannot add without a preflight; the rest is ambient.
   */
  @ParameterizedTest
  @CsvSource({
    "NONE, true, true, true",
    "NONE, false, false, true",
    "MTLS, true, false, true",
    "API_KEY, true, false, false",
    "JWT, true, false, false"
  })
  void checksWhereTheBrowserAloneIsAuthorized(
      SecuritySettings.Mode mode, boolean loopback, boolean host, boolean origin) {
    var settings =
        new SecuritySettings(
            mode,
            false,
            Set.of("Box.Example"),
            false,
            new SecuritySettings.ApiKeysFile("", Duration.ofSeconds(5)),
            new SecuritySettings.Jwt("tenant", "scope"),
            new SecuritySettings.Mtls(
                SecuritySettings.Source.SUBJECT_CN, Pattern.compile("(.+)"), Set.of()));
    assertThat(BrowserGuard.of(settings, loopback))
        .isEqualTo(new BrowserGuard(host, origin, Set.of("box.example")));
  }
}
