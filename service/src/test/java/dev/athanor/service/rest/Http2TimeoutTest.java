package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.Http2;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.test.context.TestPropertySource;

/** Tests HTTP/2 clients that send nothing more, or slowly. */
@TestPropertySource(
    properties = {
      "athanor.replica=wire",
      "server.tomcat.connection-timeout=500ms",
      "server.http2.enabled=true"
    })
@Tag(TestTier.THOROUGH_TAG)
class Http2TimeoutTest extends RestTest {

  private static final byte[] UPLOAD =
      Http2.request(
          1,
          0,
          "POST",
          "/tensors?dtype=u8&shape=1000000",
          "localhost",
          "content-type",
          "application/octet-stream");

  /** Nothing, a part of a frame, and headers without an end. */
  static Stream<byte[]> starts() {
    return Stream.of(
        new byte[0],
        Arrays.copyOf(UPLOAD, UPLOAD.length - 1),
        Http2.frame(Http2.HEADERS, 0, 1, Http2.field(":method", "GET")));
  }

  @ParameterizedTest
  @MethodSource("starts")
  void closesConnectionsWithoutARequest(byte[] start) throws IOException {
    try (var client = new Http2.Connection(port)) {
      client.send(start);
      assertThat(client.next(Http2.HEADERS)).as("the close of the connection").isNull();
    }
  }

  /** A part of a DATA frame has not arrived. */
  @Test
  void resetsStalledBodies() throws IOException {
    for (int sent : new int[] {4, 12}) {
      try (var client = new Http2.Connection(port)) {
        client.send(UPLOAD, Arrays.copyOf(Http2.frame(Http2.DATA, 0, 1, new byte[4]), sent));
        assertThat(client.response(1)).endsWith("reset " + Http2.ENHANCE_YOUR_CALM);
      }
    }
    assertThat(device.openBuffers()).isZero();
  }

  @Test
  void abortsSlowBodies() throws IOException {
    try (var client = new Http2.Connection(port)) {
      client.send(UPLOAD);
      var sender =
          Thread.startVirtualThread(() -> {
            while (client.send(Http2.frame(Http2.DATA, 0, 1, new byte[1200]))
                && !Thread.currentThread().isInterrupted()) {
              LockSupport.parkNanos(100_000_000); // 12 KB/s instead of 32 KiB/s
            }
          });
      assertThat(client.response(1))
          .contains(":status: 504", "urn:athanor:problem:deadline-exceeded")
          .containsPattern("The client sent only \\d+ bytes in \\d+ ms");
      sender.interrupt();
    }
    assertThat(device.openBuffers()).isZero();
  }

  /** The client grants no window for the response. */
  @Test
  void resetsResponsesThatNobodyReads() throws IOException {
    try (var client = new Http2.Connection(port)) {
      var noWindow = new byte[] {0, 4, 0, 0, 0, 0};
      client.send(
          Http2.frame(Http2.SETTINGS, 0, 0, noWindow),
          Http2.request(1, Http2.END_STREAM, "GET", "/ops", "localhost"));
      assertThat(client.response(1)).contains(":status: 200").endsWith("reset 11");
    }
  }
}
