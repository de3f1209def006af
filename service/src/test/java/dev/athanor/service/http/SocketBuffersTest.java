package dev.athanor.service.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import org.apache.tomcat.util.net.SocketBufferHandler;
import org.junit.jupiter.api.Test;

/** Tests the small and large buffers of a connection. */
class SocketBuffersTest {

  private static final int SMALL = 8;

  private final SocketBuffers buffers =
      new SocketBuffers(new SocketBufferHandler(SMALL, SMALL, false), new SocketBuffers.Pool());

  private void receive(int... bytes) {
    buffers.configureReadBufferForWrite();
    for (int each : bytes) {
      buffers.getReadBuffer().put((byte) each);
    }
  }

  private byte[] read() {
    buffers.configureReadBufferForRead();
    var bytes = new byte[buffers.getReadBuffer().remaining()];
    buffers.getReadBuffer().get(bytes);
    return bytes;
  }

  @Test
  void keepsReceivedBytesWhenResized() {
    receive(1, 2, 3);
    buffers.enlarge();
    assertThat(buffers.getReadBuffer().capacity()).isEqualTo(1 << 16);
    receive(4);
    buffers.shrink();
    assertThat(buffers.getReadBuffer().capacity()).isEqualTo(SMALL);
    receive(5);
    assertThat(read()).containsExactly(1, 2, 3, 4, 5);
  }

  @Test
  void doesNotShrinkWhileBytesDoNotFit() {
    buffers.enlarge();
    receive(new int[SMALL + 1]);
    buffers.shrink();
    assertThat(read()).hasSize(SMALL + 1);
    buffers.shrink();
    assertThat(buffers.getReadBuffer().capacity()).isEqualTo(SMALL);
  }

  @Test
  void doesNotEnlargeDuringAResponse() {
    buffers.configureWriteBufferForWrite();
    buffers.getWriteBuffer().put(ByteBuffer.allocate(3));
    buffers.enlarge();
    assertThat(buffers.getWriteBuffer().capacity()).isEqualTo(SMALL);
    assertThat(buffers.isWriteBufferEmpty()).isFalse();
  }

  @Test
  void resetRestoresSmallBuffers() {
    buffers.enlarge();
    receive(1);
    buffers.reset();
    assertThat(buffers.getReadBuffer().capacity()).isEqualTo(SMALL);
    assertThat(read()).isEmpty();
  }
}
