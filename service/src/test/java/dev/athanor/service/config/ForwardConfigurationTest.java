package dev.athanor.service.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.athanor.service.forward.Forwarding;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.security.Caller;
import dev.athanor.service.tensor.Handles;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.OpenTelemetry;
import java.io.FileInputStream;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.mock.web.MockFilterChain;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

/** Tests forwarding over TLS to a replica at 127.0.0.2 with a self-signed certificate. */
class ForwardConfigurationTest {

  private static final String PASSWORD = "changeit";

  @TempDir private static Path folder;

  @SuppressWarnings("NullAway.Init") // set before all tests
  private static HttpsServer owner;

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(AthanorProperties.class)
  static class Properties {}

  @BeforeAll
  static void start() throws Exception {
    String[] command = {
      Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
      "-genkeypair",
      "-alias",
      "pod",
      "-keyalg",
      "EC",
      "-groupname",
      "secp256r1",
      "-dname",
      "CN=pod",
      "-ext",
      "san=ip:127.0.0.2",
      "-validity",
      "2",
      "-storetype",
      "PKCS12",
      "-storepass",
      PASSWORD,
      "-keystore",
      folder.resolve("pod").toString()
    };
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
    var store = KeyStore.getInstance("PKCS12");
    try (var in = new FileInputStream(folder.resolve("pod").toFile())) {
      store.load(in, PASSWORD.toCharArray());
    }
    var keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(store, PASSWORD.toCharArray());
    var tls = SSLContext.getInstance("TLS");
    tls.init(keys.getKeyManagers(), null, null);
    owner = HttpsServer.create(new InetSocketAddress("127.0.0.2", 0), 0);
    owner.setHttpsConfigurator(new HttpsConfigurator(tls));
    owner.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(204, -1);
          exchange.close();
        });
    owner.start();
  }

  @AfterAll
  static void stop() {
    owner.stop(0);
  }

  private static ApplicationContextRunner runner() {
    var url = "https://127.0.0.{replica}:" + owner.getAddress().getPort();
    var metrics =
        new Metrics(
            new SimpleMeterRegistry(),
            OpenTelemetry.noop().getTracer("test"),
            "emulator:0",
            new MetricsSettings(false));
    return new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(SslAutoConfiguration.class))
        .withUserConfiguration(ForwardConfiguration.class, Properties.class)
        .withBean(Handles.class, () -> new Handles("test-1", url))
        .withBean(Metrics.class, () -> metrics)
        .withPropertyValues(
            "athanor.replica=test-1",
            "athanor.forward.url=" + url,
            "athanor.forward.connect-timeout=1h",
            "spring.ssl.bundle.jks.pods.truststore.location=" + folder.resolve("pod").toUri(),
            "spring.ssl.bundle.jks.pods.truststore.type=PKCS12",
            "spring.ssl.bundle.jks.pods.truststore.password=" + PASSWORD);
  }

  private static MockHttpServletResponse forward(Forwarding forwarding) throws Exception {
    var request =
        new MockHttpServletRequest("HEAD", "/tensors/t_0123456789abcdef0123456789abcdef_2");
    request.setAttribute(HttpRequests.class.getName() + ".caller", Caller.LOCAL);
    var response = new MockHttpServletResponse();
    forwarding.doFilter(request, response, new MockFilterChain());
    return response;
  }

  @Test
  void sslBundleVerifiesOtherReplicas() {
    runner()
        .withPropertyValues("athanor.forward.ssl-bundle=pods")
        .run(context ->
            assertThat(forward(context.getBean(Forwarding.class)).getStatus()).isEqualTo(204));
  }

  @Test
  void sendsNothingToReplicasWithAnUntrustedCertificate() {
    runner()
        .run(context -> {
          var response = forward(context.getBean(Forwarding.class));

          assertThat(response.getStatus()).isEqualTo(503);
          assertThat(response.getContentAsString())
              .contains(
                  "the replica 2 failed the TLS handshake, and nothing was sent to it (athanor.forward.ssl-bundle must trust its certificate, which must name its host)");
        });
  }

  @Test
  void rejectsAnUnknownBundle() {
    runner()
        .withPropertyValues("athanor.forward.ssl-bundle=pod")
        .run(context ->
            assertThat(context.getStartupFailure())
                .hasStackTraceContaining("SSL bundle name 'pod' cannot be found"));
  }
}
