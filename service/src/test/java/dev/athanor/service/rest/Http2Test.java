package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.Http2;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.context.TestPropertySource;

/** Tests HTTP/2 with prior knowledge. {@link MtlsTest} tests it over TLS. */
@TestPropertySource(
    properties = {
      "athanor.replica=wire",
      "server.tomcat.connection-timeout=1h",
      "server.http2.enabled=true"
    })
class Http2Test extends RestTest {

  private static final int NO_ERROR = 0;
  private static final int WINDOW_UPDATE = 8;

  @Autowired StreamPool streams;

  /** Returns a call of {@code identity}. */
  private static byte[] run(int stream, boolean gate) {
    var body =
        "{\"inputs\": {\"x\": {\"dtype\": \"u8\", \"shape\": [1], \"data\": [%d]}}, \"attributes\": {\"gate\": %b}}"
            .formatted(stream, gate);
    return Http2.join(
        Http2.request(
            stream,
            0,
            "POST",
            "/ops/identity",
            "localhost",
            "content-type",
            "application/json",
            "content-length",
            Integer.toString(body.length())),
        Http2.frame(Http2.DATA, Http2.END_STREAM, stream, body.getBytes(US_ASCII)));
  }

  private static byte[] get(int stream, String path, String authority, String... headers) {
    return Http2.request(stream, Http2.END_STREAM, "GET", path, authority, headers);
  }

  private static byte[] windowUpdate(int stream, int bytes) {
    return Http2.frame(WINDOW_UPDATE, 0, stream, ByteBuffer.allocate(4).putInt(bytes).array());
  }

  @Test
  void answersConcurrentRequests() throws IOException {
    try (var client = new Http2.Connection(port)) {
      client.send(run(1, false));
      assertThat(client.response(1)).contains(":status: 200", "\"data\":[1]");
      TestOps.Identity.AT_GATE.set(0);
      client.send(run(3, true), get(5, "/livez", "localhost"));
      assertThat(client.response(5)).contains(":status: 200", "{\"status\":\"UP\"}");
      await().until(() -> TestOps.Identity.AT_GATE.get() == 1);
      TestOps.Identity.GATE.release();
      assertThat(client.response(3)).contains(":status: 200", "\"data\":[3]");
    }
  }

  /** A header {@code Connection} would be an error, and other requests go on. */
  @Test
  void rejectsABodyThatHasNotArrived() throws IOException {
    try (var client = new Http2.Connection(port)) {
      client.send(
          Http2.request(1, 0, "POST", "/ops/nothing", "localhost"),
          Http2.frame(Http2.DATA, 0, 1, new byte[9]));
      assertThat(client.response(1))
          .contains(":status: 404", "urn:athanor:problem:")
          .doesNotContainIgnoringCase("connection:");
      var reset = Objects.requireNonNull(client.next(Http2.RST_STREAM));
      assertThat(reset.error()).isEqualTo(NO_ERROR);
      client.send(run(3, false));
      assertThat(client.response(3)).contains(":status: 200");
    }
  }

  @Test
  void checksOriginAndHost() throws IOException {
    try (var client = new Http2.Connection(port)) {
      client.send(get(1, "/ops", "example.org"));
      assertThat(client.response(1)).contains(":status: 403", "Host is \\\"example.org\\\"");
      client.send(get(3, "/ops", "localhost:" + port, "origin", "http://localhost:" + port));
      assertThat(client.response(3)).contains(":status: 200");
      client.send(get(5, "/ops", "localhost:" + port, "origin", "http://localhost:1"));
      assertThat(client.response(5)).contains(":status: 403", "Origin is ");
    }
  }

  @Test
  void canceledRequestsAndClosedConnectionsCancelTheCall() throws IOException {
    TestOps.Identity.AT_GATE.set(0);
    try (var client = new Http2.Connection(port)) {
      client.send(run(1, true), run(3, true));
      await().until(() -> TestOps.Identity.AT_GATE.get() == 2);
      client.send(run(5, false));
      await().until(() -> streams.waiting() == 1);
      client.send(Http2.cancel(5));
      await().until(() -> streams.waiting() == 0);
      try (var other = new Http2.Connection(port)) {
        other.send(run(1, false));
        await().until(() -> streams.waiting() == 1);
      }
      await().until(() -> streams.waiting() == 0);
      TestOps.Identity.GATE.release(2);
      assertThat(client.response(1)).contains(":status: 200");
    }
  }

  @Test
  void answersAnUpgradeWithHttp11() throws IOException {
    var upgrade =
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    try (var socket = WireTest.connect(port, upgrade)) {
      assertThat(WireTest.rest(socket))
          .startsWith("HTTP/1.1 200 ")
          .doesNotContainIgnoringCase("h2c");
    }
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void anAbortedResponseDoesNotLookComplete() throws IOException {
    int bytes = 16 << 20;
    var handle =
        given()
            .contentType("application/octet-stream")
            .body(new byte[bytes])
            .post("/tensors?dtype=u8&shape=" + bytes)
            .then()
            .statusCode(201)
            .extract()
            .header("Location");
    try (var client = new Http2.Connection(port)) {
      client.send(get(1, handle + "/data", "localhost", "accept", "application/json"));
      assertThat(client.next(Http2.DATA)).isNotNull();
      device.failWith(new DeviceException.KernelFault("identity_u8", List.of("ran")));
      client.send(windowUpdate(0, 1 << 30), windowUpdate(1, 1 << 30));
      var last = client.next();
      for (var next = last; next != null; next = client.next()) {
        last = next;
      }
      assertThat(Objects.requireNonNull(last).ends()).isFalse();
    } finally {
      device.failWith(null);
    }
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void floodOfCanceledRequestsClosesTheConnection() throws IOException {
    try (var client = new Http2.Connection(port)) {
      var sender =
          Thread.startVirtualThread(() -> {
            boolean open = true;
            for (int stream = 1; open && stream < 40_000; stream += 2) {
              open =
                  client.send(
                      Http2.request(stream, 0, "POST", "/tensors", "localhost"),
                      Http2.cancel(stream));
            }
          });
      var last = client.next(Http2.GOAWAY);
      if (last != null) { // the client's bytes in flight may reset the connection first
        assertThat(last.error()).isEqualTo(Http2.ENHANCE_YOUR_CALM);
        assertThat(client.next(Http2.PING)).as("the close of the connection").isNull();
      }
      sender.interrupt();
    }
  }
}
