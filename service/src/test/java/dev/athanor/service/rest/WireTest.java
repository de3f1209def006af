package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.Http2;
import dev.athanor.testing.TestTier;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.context.TestPropertySource;

/** Tests incomplete and pipelined requests, and other protocols. The service has long timeouts. */
@TestPropertySource(properties = {"athanor.replica=wire", "server.tomcat.connection-timeout=1h"})
@Tag(TestTier.THOROUGH_TAG)
class WireTest extends RestTest {

  @Autowired MeterRegistry registry;

  static final String POST =
      """
      POST /tensors?dtype=u8&shape=1000000 HTTP/1.1\r
      Host: localhost\r
      Content-Type: application/octet-stream\r
      Content-Length: 1000000\r
      \r
      """;

  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.1 (\\d{3}) ");

  private Socket connect(String text) throws IOException {
    return connect(port, text);
  }

  static Socket connect(int port, String text) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    return socket;
  }

  /** Reads until the server closes the connection. */
  static String rest(Socket socket) throws IOException {
    var received = new ByteArrayOutputStream();
    try {
      socket.getInputStream().transferTo(received);
    } catch (IOException e) {
      assertThat(e).hasMessageContaining("reset"); // closed with unread bytes
    }
    return received.toString(ISO_8859_1);
  }

  /** Sends requests, ends the output so that the server does not wait for more, and reads. */
  private String exchange(String requests) throws IOException {
    try (var socket = connect(requests)) {
      socket.shutdownOutput();
      return rest(socket);
    }
  }

  /** Clients that send everything before they read get a response, not a broken connection. */
  @Test
  void discardsLargeRejectedBodies() throws IOException {
    int bytes = 30 << 20;
    var request =
        """
        PUT /tensors/t_none/data HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/octet-stream\r
        Content-Length: %d\r
        \r
        """
            .formatted(bytes);
    try (var socket = connect(request)) {
      var out = socket.getOutputStream();
      for (int i = 0; i < 30; i++) {
        out.write(new byte[bytes / 30]);
      }
      socket.shutdownOutput();
      assertThat(rest(socket))
          .startsWith("HTTP/1.1 404 ")
          .contains("urn:athanor:problem:unknown-handle");
    }
  }

  @Test
  void respondsWithoutWaitingForUnusedBodies() throws IOException {
    for (var line : List.of("GET /livez", "DELETE /tensors?scope=none")) {
      var request =
          line
              + " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";
      try (var socket = connect(request)) {
        assertThat(rest(socket)).matches("(?s)HTTP/1\\.1 [24].*").doesNotContain("HTTP/1.1 100");
      }
    }
  }

  /** Actuator would parse such a body from any caller. */
  @ParameterizedTest
  @ValueSource(strings = {"GET /livez", "GET /actuator/prometheus", "HEAD /ops", "GET /console/"})
  void rejectsBodiesOfGetAndHead(String line) throws IOException {
    var request =
        line
            + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    assertThat(exchange(request)).startsWith("HTTP/1.1 400 ").containsOnlyOnce("HTTP/1.1 ");
  }

  /** The connection stays open if the body of a rejected request has already arrived. */
  @Test
  void rejectionsKeepTheConnection() throws IOException {
    var requests =
        "POST /ops/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            .repeat(3);
    assertThat(STATUS.matcher(exchange(requests)).results().map(m -> m.group(1)))
        .containsExactly("404", "404", "404");
  }

  /** HTTP/0.9 responses have neither a status nor headers. */
  @ParameterizedTest
  @ValueSource(strings = {"GET /livez\r\n", "GET /livez\n", "POST /livez\r\n"})
  void doesNotSupportHttp09(String request) throws IOException {
    assertThat(exchange(request)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"BREW /livez", "PROPFIND /ops", "get /ops", "POST /livez"})
  void rejectsUnsupportedMethods(String line) throws IOException {
    try (var socket = connect(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) {
      assertThat(rest(socket))
          .startsWith("HTTP/1.1 405 ")
          .contains("Allow: GET, HEAD, OPTIONS\r\n", "urn:athanor:problem:method-not-allowed");
    }
  }

  @Test
  void doesNotContinueRejectedRequests() throws IOException {
    var request =
        POST.replace("u8", "f7")
            .replace("Host: localhost", "Host: localhost\r\nExpect: 100-continue");
    try (var socket = connect(request)) {
      assertThat(rest(socket)).startsWith("HTTP/1.1 400 ").doesNotContain("HTTP/1.1 100");
    }
  }

  @Test
  void halfClosedConnectionEndsTheBody() throws IOException {
    try (var socket = connect(POST + "some")) {
      socket.shutdownOutput();
      assertThat(rest(socket)).startsWith("HTTP/1.1 400 ").contains("urn:athanor:problem:");
    }
  }

  @Test
  void answersPipelinedRequestsInOrder() throws IOException {
    var requests = new StringBuilder();
    for (int i = 0; i < 40; i++) {
      var each =
          "{\"inputs\": {\"x\": {\"dtype\": \"u8\", \"shape\": [1], \"data\": [%d]}}}"
              .formatted(i + 100);
      requests.append(
          "POST /ops/identity HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(i == 39 ? "Connection: close\r\n" : "", each.length(), each));
    }
    try (var socket = connect(requests.toString())) {
      var answers = rest(socket);
      assertThat(STATUS.matcher(answers).results().map(m -> m.group(1)))
          .hasSize(40)
          .containsOnly("200");
      assertThat(Pattern.compile("\"data\":\\[(\\d+)]").matcher(answers).results())
          .extracting(m -> Integer.valueOf(m.group(1)))
          .hasSize(40)
          .isSorted()
          .doesNotHaveDuplicates();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "1e3", "9223372036854775808", "0x10", ""})
  void rejectsInvalidLengths(String length) throws IOException {
    var request =
        "POST /tensors HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n{}"
            .formatted(length);
    assertThat(exchange(request))
        .matches("(?s)HTTP/1\\.1 4\\d\\d .*")
        .containsOnlyOnce("HTTP/1.1 ");
  }

  /** Bytes after the announced body are parsed as an invalid request. */
  @Test
  void tooShortLengthTruncatesTheBody() throws IOException {
    var request =
        "POST /tensors HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}{}\r\n\r\n";
    assertThat(STATUS.matcher(exchange(request)).results().map(m -> m.group(1)))
        .hasSizeBetween(1, 2)
        .containsOnly("400");
  }

  @Test
  void doesNotSupportHttp2ByDefault() throws IOException {
    try (var socket = connect("")) {
      socket.getOutputStream().write(Http2.preface());
      socket.shutdownOutput();
      assertThat(rest(socket)).doesNotContain("HTTP/1.1 2").doesNotContain("HTTP/1.1 101");
    }
    var upgrade =
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    try (var socket = connect(upgrade)) {
      assertThat(rest(socket)).startsWith("HTTP/1.1 200 ").doesNotContainIgnoringCase("h2c");
    }
  }

  /** A response during whose transfer the client disconnects is no internal error. */
  @Test
  void disconnectingClientsAreNoInternalErrors() throws IOException {
    int elements = 8 << 20;
    var body =
        "{\"inputs\": {\"x\": {\"dtype\": \"u8\", \"shape\": [%d], \"base64\": \"%s\"}}}"
            .formatted(elements, Base64.getEncoder().encodeToString(new byte[elements]));
    double internal = requests("internal");
    double cancelled = requests("cancelled");
    try (var socket =
        connect(
            "POST /ops/identity HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                .formatted(body.length(), body))) {
      assertThat(socket.getInputStream().read()).isEqualTo('H'); // the rest fills the buffers
      socket.setSoLinger(true, 0); // closing resets the connection
    }
    await().until(() -> requests("cancelled") > cancelled);
    assertThat(requests("internal")).isEqualTo(internal);
  }

  private double requests(String outcome) {
    return registry.find("athanor.op.requests").tags("outcome", outcome).counters().stream()
        .mapToDouble(Counter::count)
        .sum();
  }

  /** Clients would otherwise send the next request on a connection that closes. */
  @ParameterizedTest
  @ValueSource(strings = {"/tensors?dtype=u8&shape=67108865", "/nothing"})
  void announcesThatTheConnectionCloses(String path) throws IOException {
    var request = POST.replaceFirst("/tensors\\S*", path).replace("1000000", "30000000");
    assertThat(exchange(request + "some")).startsWith("HTTP/1.1 4").contains("Connection: close");
  }

  /** A page of another origin could otherwise run ops without a preflight. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Host: evil.example\r\n",
        "Host: localhost\r\nOrigin: https://evil.example\r\n",
        "Host: localhost\r\nOrigin: null\r\n"
      })
  void refusesForeignPages(String headers) throws IOException {
    var request =
        "POST /v2/models/identity/infer HTTP/1.1\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n%s\r\n{}"
            .formatted(headers);
    try (var socket = connect(request)) {
      assertThat(rest(socket))
          .startsWith("HTTP/1.1 403 ")
          .contains("urn:athanor:problem:forbidden");
    }
  }
}
