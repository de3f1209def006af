package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** Tests the body of an unauthenticated request. The service has long timeouts. */
@TestPropertySource(
    properties = {
      "athanor.replica=rejected",
      "athanor.security.mode=api-key",
      "server.tomcat.connection-timeout=1h"
    })
class RejectedBodyTest extends RestTest {

  @TempDir static Path folder;

  @DynamicPropertySource
  static void keys(DynamicPropertyRegistry properties) throws IOException {
    var file = Files.writeString(folder.resolve("keys"), "");
    properties.add("athanor.security.api-keys.file", file::toString);
  }

  @Test
  void rejectedBodySentAtOnceDoesNotBreakTheConnection() throws IOException {
    int bytes = 20 << 20;
    try (var socket =
        WireTest.connect(port, StrangersTest.UPLOAD + "Content-Length: " + bytes + "\r\n\r\n")) {
      for (int i = 0; i < 20; i++) {
        socket.getOutputStream().write(new byte[bytes / 20]);
      }
      assertThat(new String(socket.getInputStream().readAllBytes(), ISO_8859_1))
          .startsWith("HTTP/1.1 401 ")
          .contains("Connection: close", "urn:athanor:problem:unauthenticated");
    }
  }
}
