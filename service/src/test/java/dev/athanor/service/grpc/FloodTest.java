package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.service.Http2;
import dev.athanor.testing.TestTier;
import io.grpc.Status;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests abusive frames, which client libraries do not send. Other clients must not be affected. */
@Tag(TestTier.THOROUGH_TAG)
class FloodTest extends GrpcTest {

  private static final byte[] EMPTY = {};
  private static final int MAX_CONCURRENT_STREAMS = 3;
  private static final int REFUSED_STREAM = 7;

  @AfterEach
  void otherClientsAreServedAndNothingLeaks() {
    var run = RunRequest.newBuilder().setOp("identity").putInputs("x", input(1)).build();
    assertThat(ops().run(run).getOutputsCount()).isEqualTo(1);
    await().until(() -> device.openBuffers() == store.count());
  }

  @Test
  void thousandsOfCanceledCallsCloseTheConnection() throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      var sender =
          Thread.startVirtualThread(() -> {
            boolean open = true;
            for (int stream = 1; open && stream < 40_000; stream += 2) {
              open = client.send(Http2.call(stream, "athanor.v1.Ops/Run"), Http2.cancel(stream));
            }
          });
      expectEnhanceYourCalm(client);
      sender.interrupt();
    }
  }

  /** Expects ENHANCE_YOUR_CALM, unless the client's bytes in flight reset the connection first. */
  private static void expectEnhanceYourCalm(Http2.Connection client) throws IOException {
    var last = client.next(Http2.GOAWAY);
    if (last != null) {
      assertThat(last.error()).isEqualTo(Http2.ENHANCE_YOUR_CALM);
      assertThat(client.next(Http2.PING)).as("the close of the connection").isNull();
    }
  }

  @Test
  void frequentPingsCloseTheConnection() throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      for (int i = 0; i < 10; i++) {
        client.send(Http2.frame(Http2.PING, 0, 0, new byte[8]));
      }
      expectEnhanceYourCalm(client);
    }
  }

  @Test
  void unreadSettingsAcknowledgmentsCloseTheConnection() throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      var settings = Http2.frame(Http2.SETTINGS, 0, 0, EMPTY);
      var many = new byte[10_000][];
      java.util.Arrays.fill(many, settings);
      var block = Http2.join(many);
      int blocks = 0;
      while (client.send(block)) {
        assertThat(++blocks).as("blocks of 10000 settings").isLessThan(1000);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"0", "1", "16000"})
  void endlessHeadersCloseTheConnection(int piece) throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      client.send(Http2.frame(Http2.HEADERS, 0, 1, Http2.field(":method", "POST")));
      var field = Http2.field("x", "a".repeat(Math.max(piece - 8, 0)));
      var next = piece == 0 ? EMPTY : piece == 1 ? new byte[] {(byte) 0x82} : field;
      var sender =
          Thread.startVirtualThread(() -> {
            boolean open = true;
            for (int i = 0; open && i < 1_000_000; i++) {
              open = client.send(Http2.frame(Http2.CONTINUATION, 0, 1, next));
            }
          });
      assertThat(client.next(Http2.DATA)).as("the close of the connection").isNull();
      sender.interrupt();
    }
  }

  @Test
  void limitsConcurrentCalls() throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      var settings = Objects.requireNonNull(client.next(Http2.SETTINGS));
      assertThat(setting(settings, MAX_CONCURRENT_STREAMS)).isEqualTo(256);
      for (int i = 0; i < 300; i++) {
        client.send(Http2.call(2 * i + 1, "athanor.v1.Tensors/Put"));
      }
      client.send(Http2.frame(Http2.PING, 0, 0, new byte[8]));
      int refused = 0;
      Http2.Frame frame;
      do { // the response to the ping follows all refusals
        frame = Objects.requireNonNull(client.next(), "the server closed the connection");
        if (frame.type() == Http2.RST_STREAM) {
          assertThat(frame.error()).isEqualTo(REFUSED_STREAM);
          refused++;
        }
      } while (frame.type() != Http2.PING);
      assertThat(refused).isEqualTo(300 - 256);
    }
  }

  private static int setting(Http2.Frame settings, int id) {
    var payload = ByteBuffer.wrap(settings.payload());
    while (payload.hasRemaining()) {
      int each = payload.getShort();
      int value = payload.getInt();
      if (each == id) {
        return value;
      }
    }
    throw new AssertionError("no setting " + id);
  }

  /** A too large message is rejected by its length, before its data arrives. */
  @ParameterizedTest
  @CsvSource({"2147483647", "-2147483648", "-1", "4194305"})
  void rejectsTooLargeMessagesByTheirLength(int length) throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      client.send(Http2.call(1, "athanor.v1.Ops/Run"), Http2.message(1, 0, length, new byte[10]));
      var answer = Objects.requireNonNull(client.next(Http2.HEADERS));
      assertThat(answer.ends()).isTrue();
      assertThat(client.header(answer, "grpc-status"))
          .isEqualTo(Integer.toString(Status.Code.RESOURCE_EXHAUSTED.value()));
    }
  }

  @Test
  void rejectsTruncatedMessages() throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      client.send(
          Http2.call(1, "athanor.v1.Ops/Run"),
          Http2.message(1, Http2.END_STREAM, 1000, new byte[10]));
      var answer = Objects.requireNonNull(client.next(Http2.HEADERS));
      assertThat(answer.ends()).isTrue();
      assertThat(client.header(answer, "grpc-status"))
          .isNotEqualTo(Integer.toString(Status.Code.OK.value()));
    }
  }

  @Test
  void rejectsThousandsOfOutputs() {
    var run = RunRequest.newBuilder().setOp("identity").putInputs("x", input(1));
    for (int i = 0; i < 100_000; i++) {
      run.putOutputs("y" + i, OutputTarget.getDefaultInstance());
    }
    assertThat(refusal(() -> ops().run(run.build())).reason()).isEqualTo("unknown-field");
  }
}
