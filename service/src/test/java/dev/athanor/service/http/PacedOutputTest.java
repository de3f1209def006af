package dev.athanor.service.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PacedOutputTest {

  private static final long RATE = PacedOutput.MIN_BYTES_PER_SECOND;

  private final AtomicLong clock = new AtomicLong();
  private final ByteArrayOutputStream received = new ByteArrayOutputStream();

  /** Returns an output to a client that takes a fixed time for each byte. */
  private PacedOutput client(long nanosPerByte) {
    var out =
        new ServletOutputStream() {
          @Override
          public void write(int each) {
            received.write(each);
            clock.addAndGet(nanosPerByte);
          }

          @Override
          public boolean isReady() {
            return true;
          }

          @Override
          public void setWriteListener(WriteListener listener) {}
        };
    return new PacedOutput(out, Duration.ofSeconds(20), clock::get);
  }

  @Test
  void writesEverythingToAFastClient() throws IOException {
    var bytes = new byte[3 << 16];
    new Random(1).nextBytes(bytes);
    try (var out = client(TimeUnit.SECONDS.toNanos(1) / RATE)) {
      out.write(7);
      out.write(bytes, 1, 100);
      var buffer = ByteBuffer.wrap(bytes);
      out.write(buffer);
      assertThat(buffer.hasRemaining()).isFalse();
      // time without writes does not count, since the device may be slow
      clock.addAndGet(Duration.ofHours(1).toNanos());
      out.write(8);
    }
    var all = ByteBuffer.wrap(received.toByteArray());
    assertThat(all.get()).isEqualTo((byte) 7);
    assertThat(all.slice(1, 100)).isEqualTo(ByteBuffer.wrap(bytes, 1, 100));
    assertThat(all.slice(101, bytes.length)).isEqualTo(ByteBuffer.wrap(bytes));
    assertThat(all.get(101 + bytes.length)).isEqualTo((byte) 8);
  }

  @Test
  void abortsSlowClients() {
    var out = client(2 * TimeUnit.SECONDS.toNanos(1) / RATE);
    var bytes = ByteBuffer.allocate((int) (60 * RATE));
    assertThatThrownBy(() -> out.write(bytes))
        .isInstanceOf(IOException.class)
        .hasMessage(
            "The client read 1376256 bytes in 41 s, which is below the minimum of 65536 bytes per second; the connection is closed.");
    assertThat(bytes.hasRemaining()).isTrue();
  }
}
