package dev.athanor.service.rest.http;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The body of an answer whose bytes lie in memory that all requests share until the client has
 * taken them. The container bounds how long a client takes nothing; this bounds how slowly it may
 * take.
 */
public final class PacedOutput extends ServletOutputStream {

  /** The lowest rate at which a client may take an answer, in bytes a second. */
  static final long LOWEST_RATE = 64 << 10;

  /** So much is written between two looks at the clock. */
  private static final int SLICE = 1 << 16;

  private final ServletOutputStream out;
  private final long silence;
  private final LongSupplier clock;
  private long waited;
  private long taken;

  /**
   * @param silence how long a client may take nothing
   * @param clock in nanoseconds
   */
  PacedOutput(ServletOutputStream out, Duration silence, LongSupplier clock) {
    this.out = out;
    this.silence = silence.toNanos();
    this.clock = clock;
  }

  /** The body of this thread's answer. */
  public static PacedOutput of(HttpServletResponse response) throws IOException {
    return new PacedOutput(response.getOutputStream(), Connections.silence(), System::nanoTime);
  }

  @Override
  public void write(int each) throws IOException {
    write(new byte[] {(byte) each}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    write(ByteBuffer.wrap(bytes, offset, length));
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    int end = bytes.limit();
    while (bytes.position() < end) {
      int length = Math.min(end - bytes.position(), SLICE);
      bytes.limit(bytes.position() + length);
      long began = clock.getAsLong();
      out.write(bytes);
      bytes.limit(end);
      took(length, clock.getAsLong() - began);
    }
  }

  private void took(int bytes, long nanos) throws IOException {
    taken += bytes;
    waited += nanos;
    long due = TimeUnit.SECONDS.toNanos(taken) / LOWEST_RATE;
    if (waited > silence + due) {
      throw new IOException(
          "The client took %d bytes in %d s, less than %d bytes a second; the connection is closed."
              .formatted(taken, TimeUnit.NANOSECONDS.toSeconds(waited), LOWEST_RATE));
    }
  }

  @Override
  public void flush() throws IOException {
    out.flush();
  }

  @Override
  public void close() throws IOException {
    out.close();
  }

  @Override
  public boolean isReady() {
    return out.isReady();
  }

  @Override
  public void setWriteListener(WriteListener listener) {
    out.setWriteListener(listener);
  }
}
