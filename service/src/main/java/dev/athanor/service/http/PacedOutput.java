package dev.athanor.service.http;

import dev.athanor.service.device.ProcessorShares;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.catalina.connector.ClientAbortException;

/**
 * A response body with a minimum transfer rate. Its bytes occupy shared memory until the client has
 * received them. The container limits how long a client may stall; this class limits how slowly it
 * may read.
 */
public final class PacedOutput extends ServletOutputStream {

  /** Minimum rate at which a client must read, in bytes per second. */
  static final long MIN_BYTES_PER_SECOND = 64 << 10;

  /** Bytes written between two checks of the clock. */
  private static final int SLICE = 1 << 16;

  private final ServletOutputStream out;
  private final long silence;
  private final LongSupplier clock;
  private long waited;
  private long written;

  /**
   * @param silence how long a client may stall
   * @param clock in nanoseconds
   */
  PacedOutput(ServletOutputStream out, Duration silence, LongSupplier clock) {
    this.out = out;
    this.silence = silence.toNanos();
    this.clock = clock;
  }

  /** Returns the body of this thread's response. */
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
      ProcessorShares.release();
      long began = clock.getAsLong();
      out.write(bytes);
      bytes.limit(end);
      account(length, clock.getAsLong() - began);
      ProcessorShares.acquire(length);
    }
  }

  private void account(int bytes, long nanos) throws IOException {
    written += bytes;
    waited += nanos;
    long due = TimeUnit.SECONDS.toNanos(written) / MIN_BYTES_PER_SECOND;
    if (waited > silence + due) {
      throw new ClientAbortException(
          "The client read %d bytes in %d s, which is below the minimum of %d bytes per second; the connection is closed."
              .formatted(written, TimeUnit.NANOSECONDS.toSeconds(waited), MIN_BYTES_PER_SECOND));
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
