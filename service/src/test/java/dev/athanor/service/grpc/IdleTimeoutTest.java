package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.service.Http2;
import dev.athanor.testing.TestTier;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/** Tests clients that send nothing more, or single bytes. */
@TestPropertySource(properties = "athanor.grpc.idle-timeout=500ms")
@Tag(TestTier.THOROUGH_TAG)
class IdleTimeoutTest extends GrpcTest {

  private static final String SILENCE = "no message arrived for 500 ms; the stream was canceled";

  @Test
  void cancelsSilentUploads() {
    refusal(start(header("u8", 1_000_000))::tensor)
        .is(Status.Code.DEADLINE_EXCEEDED, "deadline-exceeded", null, SILENCE);
    await().until(() -> store.bytes() == 0);
    assertThat(device.openBuffers()).isZero();
  }

  /** Open streams without messages time out, too. */
  @Test
  void cancelsSilentStreams() throws IOException {
    try (var client = new Http2.Connection(server.getPort())) {
      for (int i = 0; i < 200; i++) {
        client.send(Http2.call(2 * i + 1, "athanor.v1.Tensors/Put"));
      }
      int ended = 0;
      while (ended < 200) {
        var frame = Objects.requireNonNull(client.next(), "the server closed the connection");
        if (frame.type() == Http2.HEADERS && frame.ends()) {
          ended++;
          assertThat(client.header(frame, "grpc-status"))
              .isEqualTo(Integer.toString(Status.Code.DEADLINE_EXCEEDED.value()));
        }
      }
    }
  }

  @Test
  void abortsTricklingUploads() {
    String message;
    do { // on a slow machine, the time between two bytes may exceed the timeout
      var upload = start(header("u8", 1_000_000));
      var requests = Objects.requireNonNull(upload.call);
      await()
          .pollInterval(Duration.ofMillis(20))
          .until(() -> {
            requests.onNext(chunk(ByteString.copyFrom(new byte[1])));
            return upload.answer.isDone();
          });
      message = refusal(upload::tensor).message();
    } while (message.equals(SILENCE));
    assertThat(message)
        .matches("The client sent only \\d+ bytes in \\d+ ms; the request was aborted");
  }

  @Test
  void downloadTimesOutIfTheClientReadsNothing() throws InterruptedException {
    // on a slow machine, an upload may time out as well
    var tensor =
        await()
            .ignoreExceptions()
            .until(
                () ->
                    put(
                        TensorsServiceTest.messages(
                            header("u8", 30_000_000), TensorsServiceTest.random(30_000_000))),
                Objects::nonNull);
    long before = device.downloadedBytes();
    var slow = new TensorsServiceTest.SlowReader();
    TensorsGrpc.newStub(channel())
        .get(TensorsServiceTest.from(tensor).setChunkBytes(TensorsServiceTest.CHUNK).build(), slow);
    assertThat(slow.answers.take().hasHeader()).isTrue();
    // unread data stays on the device, except one flow control window and one chunk
    tensors().delete(DeleteRequest.newBuilder().setHandle(tensor.getHandle()).build());
    await().until(() -> device.openBuffers() == 0);
    assertThat(device.downloadedBytes() - before).isLessThan(8L << 20);
    Objects.requireNonNull(slow.call).request(100);
    assertThat(slow.ended.join())
        .isEqualTo("the client read nothing for 500 ms; the stream was canceled");
  }
}
