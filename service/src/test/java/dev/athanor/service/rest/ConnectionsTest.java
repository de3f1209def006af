package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests large tensors, and many requests on one connection. */
class ConnectionsTest extends RestTest {

  /** More than two buffers, and not a multiple of any buffer size. */
  private static final int SIZE = (5 << 19) + 12345;

  @Test
  void roundTripsTensorsOfSeveralBuffers() {
    var bytes = new byte[SIZE];
    new Random(1).nextBytes(bytes);
    String handle =
        given()
            .contentType("application/octet-stream")
            .body(bytes)
            .post("/tensors?dtype=u8&shape=" + SIZE)
            .then()
            .statusCode(201)
            .extract()
            .path("handle");
    var data = "/tensors/" + handle + "/data";
    assertThat(given().get(data).then().statusCode(200).extract().asByteArray()).isEqualTo(bytes);
    int from = (1 << 20) - 1;
    int to = (2 << 20) + 1;
    assertThat(
            given()
                .header("Range", "bytes=%d-%d".formatted(from, to))
                .get(data)
                .then()
                .statusCode(206)
                .extract()
                .asByteArray())
        .isEqualTo(Arrays.copyOfRange(bytes, from, to + 1));
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  @Test
  void connectionServesManyRequests() throws IOException {
    var request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.UTF_8);
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port);
        var answers =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
      for (int i = 0; i < 150; i++) {
        socket.getOutputStream().write(request);
        assertThat(answers.readLine()).startsWith("HTTP/1.1 200");
        // headers, and the size and data of the only chunk
        var line = "";
        while (!line.startsWith("{")) {
          line = answers.readLine();
          assertThat(line).isNotNull().doesNotContainIgnoringCase("connection: close");
        }
        assertThat(line).endsWith("}");
        assertThat(answers.readLine()).isEqualTo("0");
        assertThat(answers.readLine()).isEmpty();
      }
    }
  }
}
