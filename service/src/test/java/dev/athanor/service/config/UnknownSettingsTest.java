package dev.athanor.service.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.FileSystemResource;

/** Tests which settings are rejected, and with which message. */
class UnknownSettingsTest {

  private static final UnknownSettings SETTINGS = new UnknownSettings();

  @TempDir Path folder;

  private static void check(PropertySource<?> source) {
    var environment = new StandardEnvironment();
    var sources = environment.getPropertySources();
    sources.forEach(each -> sources.remove(each.getName()));
    sources.addFirst(source);
    SETTINGS.check(environment);
  }

  private static void expectRejection(PropertySource<?> source, String message) {
    assertThatThrownBy(() -> check(source)).hasMessage(message);
  }

  private static PropertySource<?> variable(String name) {
    return new SystemEnvironmentPropertySource("systemEnvironment", Map.of(name, "1"));
  }

  private static PropertySource<?> systemProperty(String name) {
    return new MapPropertySource("systemProperties", Map.of(name, "1"));
  }

  private static PropertySource<?> yaml(String text) throws IOException {
    return new YamlPropertySourceLoader()
        .load("test", new ByteArrayResource(text.getBytes(StandardCharsets.UTF_8)))
        .getFirst();
  }

  @Test
  void reportsFileAndLine() throws IOException {
    var file = folder.resolve("application.yaml");
    Files.writeString(file, "server.port: 0\n\nathanor:\n  device: auto\n  stream: 4\n");
    var source =
        new YamlPropertySourceLoader().load("test", new FileSystemResource(file)).getFirst();
    expectRejection(
        source,
        "Unknown setting athanor.stream (%s:5); did you mean athanor.run.streams?".formatted(file));
  }

  @Test
  void reportsEveryUnknownKey() throws IOException {
    assertThatThrownBy(() -> check(yaml("athanor:\n  run.streems: 4\n  color: red\n")))
        .hasMessageMatching(
            "Unknown setting athanor.run.streems \\(.*:2\\); did you mean athanor.run.streams\\?"
                + " Unknown setting athanor.color \\(.*:3\\); docs/settings.md lists all settings\\.");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          athanor.devise          | did you mean athanor.device?
          athanor.run.stagingbyte | did you mean athanor.run.staging-bytes?
          athanor.max-bytes       | did you mean athanor.tensors.max-bytes?
          athanor.security.api-key.file | did you mean athanor.security.api-keys.file?
          athanor.quota.tenants.lab.max-byte | did you mean athanor.quota.tenants.TENANT.max-bytes?
          athanor.run             | docs/settings.md lists all settings.
          athanor.run.streams.min | docs/settings.md lists all settings.
          """)
  void suggestsTheNearestKey(String key, String hint) {
    expectRejection(
        new SimpleCommandLinePropertySource("--" + key + "=1"),
        "Unknown setting %s (command line); %s".formatted(key, hint));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ATHANOR_RUN_STREAM       | did you mean ATHANOR_RUN_STREAMS?
          ATHANOR_TENSOR_MAXBYTES  | did you mean ATHANOR_TENSORS_MAXBYTES?
          ATHANOR_DEVICES          | did you mean ATHANOR_DEVICE?
          ATHANOR_RUN_NOTHING      | docs/settings.md lists all settings.
          """)
  void reportsEnvironmentVariablesByName(String name, String hint) {
    expectRejection(
        variable(name), "Unknown setting %s (environment variable); %s".formatted(name, hint));
  }

  /** Other programs use variables with this prefix, too. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ATHANOR_PYTHON",
        "ATHANOR_KEY",
        "ATHANOR_SERVE",
        "ATHANOR_HOME",
        "ATHANOR",
        "ATHANORA_RUN_STREAM"
      })
  void ignoresVariablesOfOtherPrograms(String name) {
    assertThatNoException().isThrownBy(() -> check(variable(name)));
  }

  /** Variables of Services named athanor, athanor-grpc and athanor-run. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ATHANOR_SERVICE_HOST",
        "ATHANOR_SERVICE_PORT",
        "ATHANOR_SERVICE_PORT_HTTP",
        "ATHANOR_PORT",
        "ATHANOR_PORT_8080_TCP",
        "ATHANOR_PORT_8080_TCP_PROTO",
        "ATHANOR_PORT_8080_TCP_PORT",
        "ATHANOR_PORT_8080_TCP_ADDR",
        "ATHANOR_GRPC_SERVICE_HOST",
        "ATHANOR_GRPC_SERVICE_PORT_GRPC",
        "ATHANOR_GRPC_PORT",
        "ATHANOR_RUN_PORT_9090_TCP_ADDR"
      })
  void ignoresVariablesOfKubernetes(String name) {
    assertThatNoException().isThrownBy(() -> check(variable(name)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ATHANOR_RUN_STREAMS",
        "ATHANOR_RUN_INLINEBYTES",
        "ATHANOR_RUN_INLINE_BYTES",
        "ATHANOR_SECURITY_APIKEYS_FILE",
        "ATHANOR_SECURITY_API_KEYS_FILE",
        "ATHANOR_SECURITY_MTLS_SCOPES",
        "ATHANOR_SECURITY_MTLS_SCOPES_0",
        "ATHANOR_QUOTA_TENANTS_LAB_MAXBYTES"
      })
  void acceptsVariablesOfSettings(String name) {
    assertThatNoException().isThrownBy(() -> check(variable(name)));
  }

  @Test
  void rejectsSystemPropertiesLikeVariables() {
    expectRejection(
        systemProperty("athanor.run.stream"),
        "Unknown setting athanor.run.stream (system property); did you mean athanor.run.streams?");
    expectRejection(
        systemProperty("athanor.devices"),
        "Unknown setting athanor.devices (system property); did you mean athanor.device?");
    for (var name : new String[] {"athanor.sanitize", "athanor.seed", "athanor.run.streams"}) {
      assertThatNoException().isThrownBy(() -> check(systemProperty(name)));
    }
  }

  /** Tests spellings of Spring Boot's relaxed binding, lists, and keys of a map. */
  @Test
  void acceptsEverySpellingOfASetting() throws IOException {
    var source =
        yaml(
            """
            athanor:
              run: {stagingBytes: 1MB, inline_bytes: 1MB, QUEUE: 3}
              forward:
              security.mtls.scopes: [metrics, "ops:run"]
              quota.tenants:
                lab: {max-bytes: 5, maxCount: 3}
                "[acme.com]": {share: 0.5, weight: 2}
            """);
    assertThatNoException().isThrownBy(() -> check(source));
  }

  /** The failure is reported like a command line error, without a stack trace. */
  @Test
  void applicationDoesNotStart() {
    var application = new SpringApplication(Properties.class);
    application.setWebApplicationType(WebApplicationType.NONE);
    assertThatThrownBy(() -> application.run("--athanor.stream=4"))
        .satisfies(e ->
            assertThat(StartupFailure.of(e))
                .hasValue(
                    new StartupFailure(
                        "Unknown setting athanor.stream (command line); did you mean athanor.run.streams?",
                        true)));
  }

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(AthanorProperties.class)
  static class Properties {}

  /** Accepted keys are also bound. */
  @Test
  void bindsQuotasByTenant() {
    new ApplicationContextRunner()
        .withUserConfiguration(Properties.class)
        .withPropertyValues(
            "athanor.quota.tenants.lab.max-bytes=5", "athanor.quota.tenants[acme.com].share=0.25")
        .run(context -> {
          var tenants = context.getBean(AthanorProperties.class).quota().tenants();
          assertThat(tenants).containsOnlyKeys("lab", "acme.com");
        });
  }

  @Test
  void rejectsInvalidTenantNames() {
    new ApplicationContextRunner()
        .withUserConfiguration(Properties.class)
        .withPropertyValues("athanor.quota.tenants[a b].max-bytes=5")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                    "the name of a tenant in athanor.quota.tenants must have 1 to 64 letters, digits, dots, hyphens and underscores"));
  }

  @Test
  void rejectsNonPositiveQuotas() {
    new ApplicationContextRunner()
        .withUserConfiguration(Properties.class)
        .withPropertyValues("athanor.quota.tenants.lab.max-bytes=0")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining("must be greater than or equal to 1"));
  }
}
