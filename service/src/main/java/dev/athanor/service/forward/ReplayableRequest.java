package dev.athanor.service.forward;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A request that keeps a copy of what is read of its body, so that all of it can be sent on. Where
 * the copy would be too long it is dropped, and the body is read as ever.
 */
final class ReplayableRequest extends HttpServletRequestWrapper implements AutoCloseable {

  private final long limit;
  private final AtomicLong budget;
  private @Nullable ByteArrayOutputStream copy = new ByteArrayOutputStream(0);
  private @Nullable ServletInputStream in;

  /**
   * @param limit the longest copy, in bytes
   * @param budget what is left for the copies of all requests, in bytes
   */
  ReplayableRequest(HttpServletRequest request, long limit, AtomicLong budget) {
    super(request);
    this.limit = limit;
    this.budget = budget;
  }

  @Override
  public ServletInputStream getInputStream() throws IOException {
    if (in == null) {
      in = new Copying(super.getInputStream());
    }
    return in;
  }

  /** The request as it came. */
  HttpServletRequest unwrapped() {
    return (HttpServletRequest) getRequest();
  }

  /** What has been read of the body; null where that was too long to keep. */
  @Nullable InputStream copied() {
    return copy == null ? null : new ByteArrayInputStream(copy.toByteArray());
  }

  private void keep(byte[] bytes, int offset, int length) {
    if (copy == null || length <= 0) {
      return;
    }
    if (copy.size() + (long) length > limit || !reserve(length)) {
      close();
      return;
    }
    copy.write(bytes, offset, length);
  }

  private boolean reserve(int bytes) {
    if (budget.addAndGet(-bytes) >= 0) {
      return true;
    }
    budget.addAndGet(bytes);
    return false;
  }

  /** Drops the copy. */
  @Override
  public void close() {
    if (copy != null) {
      budget.addAndGet(copy.size());
      copy = null;
    }
  }

  private final class Copying extends ServletInputStream {
    private final ServletInputStream body;

    Copying(ServletInputStream body) {
      this.body = body;
    }

    @Override
    public int read() throws IOException {
      int value = body.read();
      if (value >= 0) {
        keep(new byte[] {(byte) value}, 0, 1);
      }
      return value;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      int count = body.read(target, offset, length);
      keep(target, offset, count);
      return count;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      int start = target.position();
      var view = target.duplicate();
      int count = body.read(target);
      if (count > 0) {
        var bytes = new byte[count];
        view.get(start, bytes);
        keep(bytes, 0, count);
      }
      return count;
    }

    @Override
    public int available() throws IOException {
      return body.available();
    }

    @Override
    public boolean isFinished() {
      return body.isFinished();
    }

    @Override
    public boolean isReady() {
      return body.isReady();
    }

    @Override
    public void setReadListener(ReadListener listener) {
      body.setReadListener(listener);
    }
  }
}
