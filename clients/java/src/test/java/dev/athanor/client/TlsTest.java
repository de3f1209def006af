package dev.athanor.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests a service with a self-signed certificate for 127.0.0.1. */
@Tag(TestTier.THOROUGH_TAG)
class TlsTest {

  private static final String PASSWORD = "changeit";

  @TempDir private static Path folder;

  @SuppressWarnings("NullAway.Init") // set before all tests
  private static ServiceProcess service;

  @BeforeAll
  static void start() throws Exception {
    var keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "server",
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-dname",
                "CN=server",
                "-ext",
                "san=ip:127.0.0.1",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD,
                "-keystore",
                folder.resolve("server").toString())
            .redirectErrorStream(true)
            .start();
    var said = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    assertThat(keytool.waitFor()).as(said).isZero();
    var bundle = "spring.ssl.bundle.jks.web.keystore.";
    service =
        LiveService.start(
            bundle + "location=" + folder.resolve("server").toUri(),
            bundle + "password=" + PASSWORD,
            bundle + "type=PKCS12",
            "server.ssl.bundle=web");
  }

  @AfterAll
  static void stop() {
    service.close();
  }

  /** Returns a context that trusts only the service's certificate. */
  private static SSLContext trusting() throws IOException, GeneralSecurityException {
    var keys = KeyStore.getInstance("PKCS12");
    try (var in = Files.newInputStream(folder.resolve("server"))) {
      keys.load(in, PASSWORD.toCharArray());
    }
    var trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("server", keys.getCertificate("server"));
    var managers = TrustManagerFactory.getInstance("PKIX");
    managers.init(trusted);
    var context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  /** Returns the URLs of the service over both protocols. */
  static Stream<String> urls() {
    return Stream.of(
        "https://HOST:" + service.url().getPort(), "grpcs://HOST:" + service.grpcPort());
  }

  private static void expectFailedHandshake(AthanorBuilder builder, String reason) {
    var attempts = new ArrayList<String>();
    try (var athanor =
        builder.listener((call, outcome, duration) -> attempts.add(call + " " + outcome)).build()) {
      var failure =
          catchThrowableOfType(
              AthanorException.class, () -> athanor.upload(HostTensor.of(new float[] {1})));
      assertThat(failure.code()).isEqualTo("tls-failed");
      assertThat(failure.status()).isZero();
      assertThat(failure.detail())
          .startsWith("The TLS handshake failed: ")
          .contains(reason)
          .endsWith(
              ". The trust store must contain the issuer of the service's certificate, and the certificate must name the host of the URL.");
      assertThat(failure).hasRootCauseInstanceOf(GeneralSecurityException.class);
      assertThat(attempts).containsExactly("tensors.create tls-failed");
    }
  }

  @ParameterizedTest
  @MethodSource("urls")
  void connectsWithACustomTrustStore(String url) throws Exception {
    try (var athanor =
            Athanor.builder(url.replace("HOST", "127.0.0.1")).sslContext(trusting()).build();
        var x = athanor.upload(HostTensor.of(new float[] {-1, 2}));
        var y = athanor.relu(x)) {
      assertThat(y.download().toFloats()).containsExactly(0, 2);
      assertThat(athanor.ready()).isTrue();
    }
  }

  @ParameterizedTest
  @MethodSource("urls")
  void rejectsACertificateThatTheJvmDoesNotTrust(String url) {
    expectFailedHandshake(
        Athanor.builder(url.replace("HOST", "127.0.0.1")),
        "unable to find valid certification path to requested target");
  }

  /** A server in plaintext responds to the handshake with an HTTP error, as Tomcat does. */
  @ParameterizedTest
  @ValueSource(strings = {"https", "grpcs"})
  void namesPortsWithoutTls(String scheme) throws Exception {
    var attempts = new ArrayList<String>();
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var athanor =
            Athanor.builder("%s://127.0.0.1:%d".formatted(scheme, server.getLocalPort()))
                .listener((call, outcome, duration) -> attempts.add(call + " " + outcome))
                .build()) {
      new Thread(() -> refuseAll(server)).start();
      var failure =
          catchThrowableOfType(
              AthanorException.class, () -> athanor.upload(HostTensor.of(new float[] {1})));
      assertThat(failure.code()).isEqualTo("tls-failed");
      assertThat(failure.detail())
          .isEqualTo(
              "The TLS handshake failed: the port of the URL does not use TLS. The schemes without TLS are http and grpc.");
      assertThat(attempts).containsExactly("tensors.create tls-failed");
    }
  }

  private static void refuseAll(ServerSocket server) {
    while (!server.isClosed()) {
      try (var connection = server.accept()) {
        connection.getInputStream().read(new byte[1000]);
        connection.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(UTF_8));
      } catch (IOException e) {
        // the test has ended, or the client has disconnected
      }
    }
  }

  @ParameterizedTest
  @MethodSource("urls")
  void rejectsACertificateForAnotherHost(String url) throws Exception {
    expectFailedHandshake(
        Athanor.builder(url.replace("HOST", "localhost")).sslContext(trusting()),
        "No name matching localhost found");
  }
}
