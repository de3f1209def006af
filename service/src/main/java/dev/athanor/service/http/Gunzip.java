package dev.athanor.service.http;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** Decompresses gzip (RFC 1952). Unlike the JDK's stream, it rejects data after the last member. */
final class Gunzip extends GZIPInputStream {

  private static final int BYTES_AT_ONCE = 8192;
  private static final int TRAILER = 8;

  private final Counted packed;

  /** The number of bytes read when the inflater was last filled. */
  private long filled;

  /**
   * Starts decompressing.
   *
   * @throws ZipException if the data is not gzip
   */
  Gunzip(InputStream packed) throws IOException {
    this(new Counted(packed));
  }

  private Gunzip(Counted packed) throws IOException {
    super(packed, BYTES_AT_ONCE);
    this.packed = packed;
  }

  @Override
  protected void fill() throws IOException {
    super.fill();
    filled = packed.count;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    int count = super.read(target, offset, length);
    if (count < 0) {
      long end = filled - inf.getRemaining() + TRAILER;
      if (packed.count > end || packed.read() >= 0) {
        throw new ZipException("data after the last gzip member");
      }
    }
    return count;
  }

  private static final class Counted extends FilterInputStream {
    private long count;

    Counted(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      int next = in.read();
      count += next < 0 ? 0 : 1;
      return next;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      int read = in.read(target, offset, length);
      count += Math.max(read, 0);
      return read;
    }
  }
}
