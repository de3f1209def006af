package dev.athanor.service.rest.http;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** Unpacks gzip (RFC 1952), and refuses what follows the last member, which the JDK's ignores. */
final class Gunzip extends GZIPInputStream {

  private static final int BYTES_AT_ONCE = 8192;
  private static final int TRAILER = 8;

  private final Counted packed;

  /** How much was taken when the inflater got its input. */
  private long filled;

  /**
   * Begins to unpack.
   *
   * @throws ZipException when it is not gzip
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
        throw new ZipException("bytes follow the last member");
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
