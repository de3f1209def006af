package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.test.context.TestPropertySource;

/** Tests clients that send nothing more, or single bytes. */
@TestPropertySource(properties = {"athanor.replica=wire", "server.tomcat.connection-timeout=500ms"})
@Tag(TestTier.THOROUGH_TAG)
class WireTimeoutTest extends RestTest {

  /** Sends single bytes until the server responds and closes the connection. */
  private static String trickle(Socket socket, String text) throws IOException {
    var received = new ByteArrayOutputStream();
    socket.setSoTimeout(20);
    for (int i = 0; i < 3000; i++) {
      try {
        int next = socket.getInputStream().read();
        if (next < 0) {
          return received.toString(ISO_8859_1);
        }
        received.write(next);
      } catch (SocketTimeoutException e) {
        try {
          socket.getOutputStream().write(text.charAt(i % text.length()));
        } catch (IOException closed) {
          return received + WireTest.rest(socket);
        }
      } catch (IOException e) {
        return received.toString(ISO_8859_1);
      }
    }
    throw new AssertionError("the server still reads after 3000 bytes; response: " + received);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "GET /ops", "GET /ops HTTP/1.1\r\nHost: localhost\r\nX-A"})
  void closesIdleConnections(String start) throws IOException {
    try (var socket = WireTest.connect(port, start)) {
      assertThat(WireTest.rest(socket)).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET /", "GET /ops HTTP/1.1\r\nHost: localhost\r\nX-A: "})
  void abortsTricklingHeaders(String start) throws IOException {
    try (var socket = WireTest.connect(port, start)) {
      assertThat(trickle(socket, "a")).isEmpty();
    }
  }

  @Test
  void abortsStalledBodies() throws IOException {
    try (var socket = WireTest.connect(port, WireTest.POST + "some")) {
      assertThat(WireTest.rest(socket))
          .startsWith("HTTP/1.1 504 ")
          .contains(
              "urn:athanor:problem:deadline-exceeded", "Timeout while reading the request body");
    }
    assertThat(device.openBuffers()).isZero();
  }

  @Test
  void abortsTricklingBodies() throws IOException {
    String answer;
    do { // on a slow machine, the time between two bytes may exceed the timeout
      try (var socket = WireTest.connect(port, WireTest.POST)) {
        answer = trickle(socket, "a");
      }
    } while (answer.contains("Timeout while reading the request body"));
    assertThat(answer)
        .startsWith("HTTP/1.1 504 ")
        .contains("urn:athanor:problem:deadline-exceeded")
        .containsPattern("The client sent only \\d+ bytes in \\d+ ms");
    assertThat(device.openBuffers()).isZero();
  }

  @Test
  void abortsTricklingRejectedBodies() throws IOException {
    try (var socket = WireTest.connect(port, WireTest.POST.replace("u8", "f7"))) {
      assertThat(trickle(socket, "a")).startsWith("HTTP/1.1 400 ").contains("urn:athanor:problem:");
    }
  }

  /** By default, Tomcat would keep reading, even after a 200. */
  @ParameterizedTest
  @ValueSource(strings = {"GET /livez", "POST /nothing", "DELETE /tensors?scope=none"})
  void abortsTricklingUnreadBodies(String line) throws IOException {
    for (var framing : List.of("Content-Length: 1000000", "Transfer-Encoding: chunked")) {
      try (var socket =
          WireTest.connect(
              port, line + " HTTP/1.1\r\nHost: localhost\r\n" + framing + "\r\n\r\n")) {
        assertThat(trickle(socket, framing.startsWith("C") ? "a" : "1\r\na\r\n"))
            .containsOnlyOnce("HTTP/1.1 ")
            .contains("\r\n\r\n");
      }
    }
  }
}
