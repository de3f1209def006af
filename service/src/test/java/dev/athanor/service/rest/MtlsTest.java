package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.testing.TestTier;
import io.grpc.Grpc;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** Tests the mode mtls, over HTTP/2 if not stated, with certificates from keytool. */
@TestPropertySource(
    properties = {
      "athanor.security.mode=mtls",
      "athanor.security.mtls.tenant-from=san-uri",
      "athanor.security.mtls.tenant-pattern=spiffe://example\\\\.org/athanor/([^/]+)",
      "server.ssl.bundle=web",
      "server.ssl.client-auth=want",
      "server.http2.enabled=true",
      "spring.ssl.bundle.jks.web.reload-on-update=true",
      "spring.ssl.bundle.watch.file.quiet-period=100ms"
    })
@Tag(TestTier.THOROUGH_TAG)
class MtlsTest extends RestTest {

  /** Number of ops in the catalogue of the test. */
  private static final int OPS = 4;

  private static final char[] PASSWORD = "changeit".toCharArray();
  private static final String SPIFFE = "uri:spiffe://example.org/athanor/";

  @TempDir private static Path folder;

  @Autowired GrpcServerLifecycle grpc;

  @DynamicPropertySource
  static void certificates(DynamicPropertyRegistry properties) throws Exception {
    certificate("server", "ip:127.0.0.1");
    certificate("lab", SPIFFE + "lab");
    certificate("other", SPIFFE + "other");
    certificate("outsider", "uri:spiffe://example.org/elsewhere/lab");
    certificate("two", SPIFFE + "a," + SPIFFE + "b");
    certificate("late", SPIFFE + "late");
    trust("lab", "other", "outsider", "two");
    for (var store : List.of("keystore", "truststore")) {
      var name = "spring.ssl.bundle.jks.web." + store;
      properties.add(
          name + ".location",
          () -> folder.resolve(store.equals("keystore") ? "server" : "trusted").toUri());
      properties.add(name + ".password", () -> "changeit");
      properties.add(name + ".type", () -> "PKCS12");
    }
  }

  private static void certificate(String name, String alternative) throws Exception {
    var command =
        new ArrayList<>(
            List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
    command.addAll(List.of("-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname"));
    command.addAll(List.of("secp256r1", "-dname", "CN=" + name, "-ext", "san=" + alternative));
    command.addAll(List.of("-validity", "2", "-storetype", "PKCS12", "-storepass", "changeit"));
    command.addAll(List.of("-keystore", folder.resolve(name).toString()));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output =
        new String(
            process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
  }

  private static KeyStore store(String name) throws IOException, GeneralSecurityException {
    var store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(folder.resolve(name))) {
      store.load(in, PASSWORD);
    }
    return store;
  }

  /** Replaces the server's trust store atomically. */
  private static void trust(String... names) throws IOException, GeneralSecurityException {
    var trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, PASSWORD);
    for (var name : names) {
      trusted.setCertificateEntry(name, store(name).getCertificate(name));
    }
    var draft = folder.resolve("draft");
    try (OutputStream out = Files.newOutputStream(draft)) {
      trusted.store(out, PASSWORD);
    }
    Files.move(draft, folder.resolve("trusted"), StandardCopyOption.ATOMIC_MOVE);
  }

  private static KeyManager[] keyManagers(@Nullable String name)
      throws IOException, GeneralSecurityException {
    var keyManagers = KeyManagerFactory.getInstance("PKIX");
    keyManagers.init(name == null ? null : store(name), PASSWORD);
    return keyManagers.getKeyManagers();
  }

  /** Returns trust managers for the current certificate of the server only. */
  private static TrustManager[] trustManagers() throws IOException, GeneralSecurityException {
    var server = KeyStore.getInstance("PKCS12");
    server.load(null, PASSWORD);
    server.setCertificateEntry("server", store("server").getCertificate("server"));
    var trusted = TrustManagerFactory.getInstance("PKIX");
    trusted.init(server);
    return trusted.getTrustManagers();
  }

  /** Returns a client with a certificate, or without one. */
  private static HttpClient client(@Nullable String name)
      throws IOException, GeneralSecurityException {
    var tls = SSLContext.getInstance("TLS");
    tls.init(keyManagers(name), trustManagers(), null);
    return HttpClient.newBuilder().sslContext(tls).build();
  }

  /** Returns the number of ops that the service lists over gRPC. */
  private int opsOverGrpc(String name) throws IOException, GeneralSecurityException {
    var channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1",
                grpc.getPort(),
                TlsChannelCredentials.newBuilder()
                    .keyManager(keyManagers(name))
                    .trustManager(trustManagers())
                    .build())
            .build();
    try {
      return OpsGrpc.newBlockingStub(channel)
          .list(ListOpsRequest.getDefaultInstance())
          .getOpsCount();
    } finally {
      channel.shutdownNow();
    }
  }

  private HttpResponse<String> get(@Nullable String name, String path) throws Exception {
    try (var client = client(name)) {
      var request = HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + path)).build();
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  private String create(String name) throws Exception {
    try (var client = client(name)) {
      var request =
          HttpRequest.newBuilder(
                  URI.create("https://127.0.0.1:" + port + "/tensors?dtype=u8&shape=1"))
              .header("Content-Type", "application/octet-stream")
              .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[1]))
              .build();
      var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      assertThat(answer.statusCode()).isEqualTo(201);
      return answer.headers().firstValue("Location").orElseThrow();
    }
  }

  @Test
  void certificateDeterminesTheTenant() throws Exception {
    var location = create("lab");
    assertThat(get("lab", location).statusCode()).isEqualTo(200);
    assertThat(get("other", location).statusCode()).isEqualTo(404);
    // the scopes of certificates do not include metrics
    var metrics = get("lab", "/actuator/prometheus");
    assertThat(metrics.statusCode()).isEqualTo(403);
    assertThat(metrics.body())
        .contains("This request needs the scope metrics; the client certificate has ");
  }

  @Test
  void negotiatesTheProtocol() throws Exception {
    try (var client = client("lab")) {
      for (var version : List.of(HttpClient.Version.HTTP_2, HttpClient.Version.HTTP_1_1)) {
        var request =
            HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + "/ops"))
                .version(version)
                .build();
        var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        assertThat(answer.version()).isEqualTo(version);
        assertThat(answer.statusCode()).isEqualTo(200);
      }
    }
  }

  /** A client of HTTP/1.1 that sends its whole body before it reads gets the response. */
  @Test
  void rejectsLargeBodies() throws Exception {
    try (var client = client(null)) {
      var request =
          HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + "/tensors"))
              .version(HttpClient.Version.HTTP_1_1)
              .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[20 << 20]))
              .build();
      for (int i = 0; i < 10; i++) {
        assertThat(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode())
            .isEqualTo(401);
      }
    }
  }

  @Test
  void withoutACertificateOnlyProbesAreAllowed() throws Exception {
    assertThat(get(null, "/readyz").statusCode()).isEqualTo(200);
    var answer = get(null, "/ops");
    assertThat(answer.statusCode()).isEqualTo(401);
    assertThat(answer.body()).contains("Client certificate required");
    assertThat(answer.headers().firstValue("WWW-Authenticate"))
        .hasValue("Certificate realm=\"athanor\"");
    assertThat(answer.headers().firstValue("Strict-Transport-Security")).isPresent();
  }

  @Test
  void rejectsCertificatesWithoutExactlyOneTenant() throws Exception {
    for (var name : List.of("outsider", "two")) {
      var answer = get(name, "/ops");
      assertThat(answer.statusCode()).isEqualTo(401);
      assertThat(answer.body())
          .contains("the client certificate must name exactly one tenant in its san-uri");
    }
  }

  @Test
  void reloadsTheTrustStore() throws Exception {
    // the client sends no certificate that the server does not ask for
    assertThat(get("late", "/ops").statusCode()).isEqualTo(401);
    assertThatExceptionOfType(StatusRuntimeException.class).isThrownBy(() -> opsOverGrpc("late"));
    assertThat(opsOverGrpc("lab")).isEqualTo(OPS);
    try {
      trust("late", "lab", "other", "outsider", "two");
      await().ignoreExceptions().until(() -> get("late", "/ops").statusCode() == 200);
      await().ignoreExceptions().until(() -> opsOverGrpc("late") == OPS);
    } finally {
      trust("lab", "other", "outsider", "two");
    }
  }

  @Test
  void reloadsTheServersCertificate() throws Exception {
    assertThat(opsOverGrpc("lab")).isEqualTo(OPS);
    certificate("renewed", "ip:127.0.0.1");
    var renewed = store("renewed");
    var draft = folder.resolve("draft");
    var server = KeyStore.getInstance("PKCS12");
    server.load(null, PASSWORD);
    server.setEntry(
        "server",
        renewed.getEntry("renewed", new KeyStore.PasswordProtection(PASSWORD)),
        new KeyStore.PasswordProtection(PASSWORD));
    try (OutputStream out = Files.newOutputStream(draft)) {
      server.store(out, PASSWORD);
    }
    Files.move(draft, folder.resolve("server"), StandardCopyOption.ATOMIC_MOVE);
    // clients trust only the new one
    await()
        .ignoreExceptions()
        .until(() -> opsOverGrpc("lab") == OPS && get("lab", "/ops").statusCode() == 200);
  }
}
