package dev.athanor.service.codec;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Computes the SHA-256 of bytes while they are read. */
public final class Digested extends ByteSource {

  private final ByteSource in;
  private final MessageDigest digest;

  public Digested(ByteSource in) {
    this.in = in;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    int n = in.read(target, offset, length);
    if (n > 0) {
      digest.update(target, offset, n);
    }
    return n;
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    int start = target.position();
    int n = in.read(target);
    if (n > 0) {
      digest.update(target.slice(start, n));
    }
    return n;
  }

  /** Reads all remaining bytes. */
  public void drain() throws IOException {
    transferTo(OutputStream.nullOutputStream());
  }

  /** Returns the digest of all bytes read, in hexadecimal. May be called once. */
  public String sha256() {
    return HexFormat.of().formatHex(digest.digest());
  }
}
