package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.http.HttpProtocol;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.TestTier;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.tomcat.util.threads.VirtualThreadExecutor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** Tests callers that open more connections than REST allows, or than their tenant may hold. */
@TestPropertySource(
    properties = {
      "athanor.replica=strange",
      "athanor.security.mode=api-key",
      "athanor.quota.share=0.5",
      "server.tomcat.max-connections=" + StrangersTest.CONNECTIONS,
      "management.server.port=0"
    })
@Tag(TestTier.THOROUGH_TAG)
class StrangersTest extends RestTest {

  static final int CONNECTIONS = 40;

  static final String UPLOAD =
      "POST /tensors?dtype=u8&shape=1000000 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n";

  private static final ApiKey.NewKey SLOW = key("slow");
  private static final ApiKey.NewKey OTHER = key("other");

  @TempDir static Path folder;

  @Autowired private ServletWebServerApplicationContext web;

  @LocalManagementPort private int managementPort;

  @DynamicPropertySource
  static void keys(DynamicPropertyRegistry properties) throws IOException {
    var file = Files.write(folder.resolve("keys"), List.of(SLOW.line(), OTHER.line()));
    properties.add("athanor.security.api-keys.file", file::toString);
  }

  private static ApiKey.NewKey key(String tenant) {
    return ApiKey.create(
        new Tenant(tenant), Set.of(Scope.OPS_RUN, Scope.TENSORS_WRITE), new SecureRandom());
  }

  private static Socket connect(int port, String text) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    return socket;
  }

  /** REST and management each have their own threads and connection limit. */
  @Test
  void managementHasItsOwnThreadsAndConnections() {
    assertThat(web.getWebServer())
        .isInstanceOfSatisfying(
            TomcatWebServer.class,
            tomcat -> {
              var protocol = (HttpProtocol) tomcat.getTomcat().getConnector().getProtocolHandler();
              assertThat(protocol.getMaxConnections()).isEqualTo(CONNECTIONS);
              assertThat(protocol.getExecutor()).isInstanceOf(VirtualThreadExecutor.class);
            });
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .anyMatch(name -> name.matches("http-nio.*-auto-.*-exec-\\d+"));
  }

  private static void live(int port, String path) throws IOException {
    try (var socket =
        connect(
            port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) {
      assertThat(new String(socket.getInputStream().readAllBytes(), ISO_8859_1))
          .startsWith("HTTP/1.1 200 ");
    }
  }

  /** A connection that sends single bytes until the server closes it. */
  private static final class TricklingClient implements AutoCloseable {
    private final Socket socket;
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();

    TricklingClient(Socket socket) throws IOException {
      this.socket = socket;
      socket.setSoTimeout(1);
    }

    /** Reads pending data, sends a byte, and returns whether the connection is still open. */
    boolean trickle() throws IOException {
      try {
        var bytes = new byte[4096];
        for (int n = socket.getInputStream().read(bytes);
            n >= 0;
            n = socket.getInputStream().read(bytes)) {
          received.write(bytes, 0, n);
        }
        return false;
      } catch (SocketTimeoutException e) {
        try {
          socket.getOutputStream().write('1');
          return true;
        } catch (SocketException closed) {
          return false;
        }
      } catch (SocketException e) {
        return false;
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static void awaitClose(List<TricklingClient> all) {
    var open = new ArrayList<>(all);
    await()
        .until(() -> {
          var ended = new ArrayList<TricklingClient>();
          for (var each : open) {
            if (!each.trickle()) {
              ended.add(each);
            }
          }
          open.removeAll(ended);
          return open.isEmpty();
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"Content-Length: 1000000", "Transfer-Encoding: chunked"})
  void tricklingRejectedBodiesDoNotBlockOthers(String framing) throws IOException {
    var all = new ArrayList<TricklingClient>();
    try {
      for (int i = 0; i < 2 * CONNECTIONS; i++) {
        all.add(new TricklingClient(connect(port, UPLOAD + framing + "\r\n\r\n")));
      }
      live(managementPort, "/actuator/health/liveness");
      live(port, "/livez");
      awaitClose(all);
      assertThat(all)
          .allSatisfy(each ->
              assertThat(each.received.toString(ISO_8859_1))
                  .startsWith("HTTP/1.1 401 ")
                  .contains("Connection: close", "urn:athanor:problem:unauthenticated")
                  .endsWith("}"));
    } finally {
      for (var each : all) {
        each.close();
      }
    }
  }

  /** Idle connections and incomplete requests time out earlier if many connections are open. */
  @ParameterizedTest
  @ValueSource(strings = {"", "GET /ops HTTP/1.1\r\nHost: localhost\r\nX-A: "})
  void idleConnectionsDoNotBlockOthers(String start) throws IOException {
    var all = new ArrayList<Socket>();
    try {
      for (int i = 0; i < 2 * CONNECTIONS; i++) {
        all.add(connect(port, start));
      }
      live(managementPort, "/actuator/health/readiness");
      live(port, "/livez");
    } finally {
      for (var each : all) {
        each.close();
      }
    }
  }

  /** A tenant that sends bodies slowly holds its share of the connections; others are served. */
  @Test
  void slowBodiesOfOneTenantDoNotBlockOthers() throws IOException {
    var slow = UPLOAD + "X-API-Key: " + SLOW.key() + "\r\nContent-Length: 1000000\r\n\r\n1";
    int held = CONNECTIONS / 2;
    var refused = new ArrayList<Socket>();
    var all = new ArrayList<Socket>();
    try {
      for (int i = 0; i < 2 * CONNECTIONS; i++) {
        all.add(connect(port, slow));
      }
      await()
          .until(() -> {
            for (var each : all) {
              if (!refused.contains(each) && each.getInputStream().available() > 0) {
                refused.add(each);
              }
            }
            return refused.size() == all.size() - held;
          });
      for (var each : refused) {
        assertThat(new String(each.getInputStream().readAllBytes(), ISO_8859_1))
            .startsWith("HTTP/1.1 429 ")
            .contains("Retry-After: 1\r\n", "Connection: close\r\n")
            .contains("urn:athanor:problem:queue-full")
            .contains(
                "Too many requests: 20 of 40 are in progress (server.tomcat.max-connections), 20 of them for this tenant (athanor.quota.share). Retry after 1 s.");
      }
      live(port, "/livez");
      live(port, "/readyz");
      given()
          .header("X-API-Key", OTHER.key())
          .contentType("application/octet-stream")
          .body(new byte[1])
          .post("/tensors?dtype=u8&shape=1")
          .then()
          .statusCode(201);
    } finally {
      for (var each : all) {
        each.close();
      }
    }
  }

  @Test
  void managementRejectsMalformedRequestsLikeRest() throws IOException {
    for (var request :
        List.of(
            "GET /actuator/health/liveness HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET /actuator/health/liveness HTTP/1.1\r\nno header\r\n\r\n")) {
      try (var socket = connect(managementPort, request)) {
        assertThat(new String(socket.getInputStream().readAllBytes(), ISO_8859_1))
            .startsWith("HTTP/1.1 400 ")
            .contains("urn:athanor:problem:malformed-body");
      }
    }
    try (var socket = connect(managementPort, "GET /actuator/health/liveness\r\n")) {
      assertThat(socket.getInputStream().readAllBytes()).isEmpty();
    }
  }
}
