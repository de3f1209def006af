package dev.athanor.service.http;

import java.io.IOException;
import java.io.InputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;

/** Decompresses zlib (RFC 1950). Unlike the JDK's stream, it rejects trailing data. */
final class Inflate extends InflaterInputStream {

  Inflate(InputStream packed) {
    super(packed);
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    int count = super.read(target, offset, length);
    if (count < 0 && (inf.getRemaining() > 0 || in.read() >= 0)) {
      throw new ZipException("data after the end of the zlib stream");
    }
    return count;
  }
}
