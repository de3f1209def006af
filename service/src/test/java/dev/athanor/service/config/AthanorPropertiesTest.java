package dev.athanor.service.config;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

class AthanorPropertiesTest {

  private static final ApplicationContextRunner RUNNER =
      new ApplicationContextRunner().withUserConfiguration(Properties.class);

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(AthanorProperties.class)
  static class Properties {}

  /** Tests pod names of Kubernetes. */
  @ParameterizedTest
  @ValueSource(strings = {"", "wire", "kiln-athanor-6d5f8b7c9-x2x4z", "lab.kiln-athanor-0"})
  void acceptsPodNamesAsReplicaNames(String name) {
    RUNNER
        .withPropertyValues("athanor.replica=" + name)
        .run(context ->
            assertThat(context.getBean(AthanorProperties.class).replica()).isEqualTo(name));
  }

  @ParameterizedTest
  @ValueSource(strings = {"Kiln", "kiln-", "kiln_0", "athanor-0123456789abcdef0"})
  void rejectsOtherReplicaNames(String name) {
    RUNNER
        .withPropertyValues("athanor.replica=" + name)
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                    "must be lower-case letters, digits, periods and hyphens, with 1 to 16 letters and digits after the last hyphen"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "http://athanor-{replica}.athanor-headless:8080",
        "https://athanor-{replica}.athanor-headless.lab.svc",
        "http://{replica}.athanor.internal"
      })
  void acceptsUrlsOfReplicas(String url) {
    RUNNER
        .withPropertyValues("athanor.replica=athanor-0", "athanor.forward.url=" + url)
        .run(context ->
            assertThat(context.getBean(AthanorProperties.class).forward().url()).isEqualTo(url));
  }

  @Test
  void readsTheListOfReplicas() {
    RUNNER
        .withPropertyValues(
            "athanor.replica=athanor-1",
            "athanor.forward.url=http://athanor-{replica}.lab",
            "athanor.forward.replicas=0,1,2")
        .run(context ->
            assertThat(context.getBean(AthanorProperties.class).forward().ids())
                .containsExactly("0", "1", "2"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0,2", "0,1,1"})
  void rejectsInvalidListsOfReplicas(String replicas) {
    RUNNER
        .withPropertyValues(
            "athanor.replica=athanor-1",
            "athanor.forward.url=http://athanor-{replica}.lab",
            "athanor.forward.replicas=" + replicas)
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                    "athanor.forward.replicas needs athanor.forward.url, and must list the id of each replica once, that of athanor.replica among them"));
    RUNNER
        .withPropertyValues("athanor.replica=athanor-1", "athanor.forward.replicas=0,1")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining("athanor.forward.replicas needs athanor.forward.url"));
    RUNNER
        .withPropertyValues("athanor.replica=athanor-1", "athanor.forward.replicas=0, 1")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining("must be up to 256 ids of lower-case letters and digits"));
  }

  @Test
  void readsTheHostThatDiscoversReplicas() {
    RUNNER
        .withPropertyValues(
            "athanor.replica=athanor-255",
            "athanor.forward.url=http://athanor-{replica}.lab",
            "athanor.forward.discovery=athanor-headless.lab.svc")
        .run(context ->
            assertThat(context.getBean(AthanorProperties.class).forward().discovery())
                .isEqualTo("athanor-headless.lab.svc"));
  }

  @Test
  void rejectsDiscoveryOfListedReplicas() {
    RUNNER
        .withPropertyValues(
            "athanor.replica=athanor-1",
            "athanor.forward.url=http://athanor-{replica}.lab",
            "athanor.forward.replicas=0,1",
            "athanor.forward.discovery=lab")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                    "athanor.forward.discovery and athanor.forward.replicas are both set; remove athanor.forward.replicas to find the replicas by DNS, or athanor.forward.discovery to list them"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"athanor-a", "athanor-256", "athanor-01", "athanor-1000"})
  void discoveryNeedsAnOrdinal(String replica) {
    var reason =
        "athanor.forward.discovery needs athanor.forward.url, and an ordinal from 0 to 255 at the end of athanor.replica, as in athanor-0";
    RUNNER
        .withPropertyValues(
            "athanor.replica=" + replica,
            "athanor.forward.url=http://athanor-{replica}.lab",
            "athanor.forward.discovery=lab")
        .run(context -> assertThat(context.getStartupFailure()).hasStackTraceContaining(reason));
    RUNNER
        .withPropertyValues("athanor.replica=athanor-1", "athanor.forward.discovery=lab")
        .run(context -> assertThat(context.getStartupFailure()).hasStackTraceContaining(reason));
    RUNNER
        .withPropertyValues("athanor.replica=athanor-1", "athanor.forward.discovery=http://lab")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining("must be the name of a host: athanor-headless"));
  }

  /** Forwarded requests contain credentials, so a handle must not determine the whole host. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://{replica}",
        "http://{replica}:8080",
        "http://athanor:8080",
        "http://{replica}-{replica}.lab",
        "athanor-{replica}:8080",
        "ftp://athanor-{replica}",
        "http://athanor-{replica}/path",
        "http://user@athanor-{replica}"
      })
  void rejectsOtherUrls(String url) {
    RUNNER
        .withPropertyValues("athanor.replica=athanor-0", "athanor.forward.url=" + url)
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                    "a host in which {replica} stands once beside fixed text"));
  }
}
