package dev.athanor.service.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Rule;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Rules.Match;
import dev.athanor.service.security.SecurityMisconfigured;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

/** Tests that the service does not start with settings that would admit everyone or nobody. */
class SecurityConfigurationTest {

  private static final ApplicationContextRunner RUNNER =
      new ApplicationContextRunner()
          .withUserConfiguration(SecurityConfiguration.class, Properties.class)
          .withPropertyValues("server.address=127.0.0.1", "spring.grpc.server.address=127.0.0.1");

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(AthanorProperties.class)
  static class Properties {}

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "server.address=0.0.0.0 | server.address is 0.0.0.0, and athanor.security.mode is none, so anyone could call; set the mode to api-key, jwt or mtls, bind to a loopback address, or set athanor.security.allow-unauthenticated",
        "athanor.security.mode=api-key | athanor.security.mode is api-key, but athanor.security.api-keys.file is not set",
        "athanor.security.mode=jwt | athanor.security.mode is jwt, but spring.security.oauth2.resourceserver.jwt.audiences is not set",
        "athanor.security.mode=jwt,spring.security.oauth2.resourceserver.jwt.audiences=a | athanor.security.mode is jwt, but neither spring.security.oauth2.resourceserver.jwt.issuer-uri nor spring.security.oauth2.resourceserver.jwt.jwk-set-uri is set",
        "athanor.security.mode=mtls,server.ssl.client-auth=need | athanor.security.mode is mtls, which requires server.ssl.bundle, and server.ssl.client-auth want or need",
        "athanor.security.mode=mtls,server.ssl.bundle=web | athanor.security.mode is mtls, which requires server.ssl.bundle, and server.ssl.client-auth want or need",
      })
  void rejectsInsecureSettings(String settings, String message) {
    RUNNER
        .withPropertyValues(settings.split(","))
        .run(context -> {
          var cause = Objects.requireNonNull(context.getStartupFailure());
          while (cause.getCause() != null) {
            cause = cause.getCause();
          }
          assertThat(cause).isInstanceOf(SecurityMisconfigured.class).hasMessage(message);
          assertThat(StartupFailure.of(cause)).contains(new StartupFailure(message, true));
        });
  }

  private static boolean isOpen(Rules rules, String path) {
    return rules.route("GET", path) instanceof Match.Ruled(Rule rule) && rule.open();
  }

  @Test
  void managementIsUnauthenticatedOnlyOnASeparatePortIfEnabled() {
    var open = RUNNER.withPropertyValues("athanor.security.unauthenticated-management=true");
    open.run(context ->
        assertThat(isOpen(context.getBean(Rules.class), "/actuator/prometheus")).isFalse());
    RUNNER
        .withPropertyValues("management.server.port=8081")
        .run(context ->
            assertThat(isOpen(context.getBean(Rules.class), "/actuator/prometheus")).isFalse());
    open.withPropertyValues("management.server.port=8081")
        .run(context -> {
          assertThat(context).hasSingleBean(Callers.class);
          var rules = context.getBean(Rules.class);
          assertThat(isOpen(rules, "/actuator/prometheus")).isTrue();
          assertThat(isOpen(rules, "/actuator/info")).isTrue();
          assertThat(isOpen(rules, "/tensors")).isFalse();
        });
  }
}
