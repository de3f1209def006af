package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.failure.Failure;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.security.oauth2.jwt.JwtException;

class JwtCallersTest {

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void logsAnUnavailableIdentityProviderOnceAMinute(CapturedOutput output) {
    var callers =
        new JwtCallers(
            _ -> {
              throw new JwtException("http://issuer.example is down");
            },
            new SecuritySettings.Jwt("tenant", "scope"));
    var credentials = new Credentials(List.of("Bearer abc"), List.of(), List.of(), "192.0.2.1");
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> callers.identify(credentials)).isInstanceOf(Failure.Busy.class);
    }
    assertThat(output.getAll()).containsOnlyOnce("Tokens cannot be checked");
  }
}
