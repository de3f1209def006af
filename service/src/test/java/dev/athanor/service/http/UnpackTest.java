package dev.athanor.service.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the end of compressed bodies. */
class UnpackTest {

  private static byte[] gzip(byte[] bytes) throws IOException {
    var compressed = new ByteArrayOutputStream();
    try (var out = new GZIPOutputStream(compressed)) {
      out.write(bytes);
    }
    return compressed.toByteArray();
  }

  private static byte[] concat(byte[]... parts) throws IOException {
    var all = new ByteArrayOutputStream();
    for (var part : parts) {
      all.write(part);
    }
    return all.toByteArray();
  }

  private static byte[] bytes(int count) {
    var bytes = new byte[count];
    new Random(count).nextBytes(bytes);
    return bytes;
  }

  /** Returns a stream that delivers a limited number of bytes at a time. */
  private static InputStream chunked(byte[] bytes, int chunk) {
    return new FilterInputStream(new ByteArrayInputStream(bytes)) {
      @Override
      public int read(byte[] target, int offset, int length) throws IOException {
        return super.read(target, offset, Math.min(length, chunk));
      }

      @Override
      public int available() {
        return 0;
      }
    };
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8192, 1 << 20})
  void readsAllMembers(int chunk) throws IOException {
    for (int count : new int[] {0, 1, 8000, 8170, 100_000}) {
      var bytes = bytes(count);
      assertThat(new Gunzip(chunked(gzip(bytes), chunk)).readAllBytes()).isEqualTo(bytes);
      var two = concat(gzip(bytes), gzip(bytes(30)));
      assertThat(new Gunzip(new ByteArrayInputStream(two)).readAllBytes())
          .isEqualTo(concat(bytes, bytes(30)));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8192, 1 << 20})
  void rejectsBytesAfterGzip(int chunk) throws IOException {
    for (int count : new int[] {0, 1, 8000, 8170, 100_000}) {
      for (int garbage : new int[] {1, 2, 9, 17, 18, 19, 40, 10_000}) {
        var tail = new byte[garbage];
        Arrays.fill(tail, (byte) 'x');
        for (var start : new byte[][] {{}, {0x1f}, {0x1f, (byte) 0x8b, 8}}) {
          System.arraycopy(start, 0, tail, 0, Math.min(start.length, garbage));
          var body = concat(gzip(bytes(count)), tail);
          assertThatThrownBy(() -> new Gunzip(chunked(body, chunk)).readAllBytes())
              .as("%d bytes, %d of garbage, beginning with %d", count, garbage, start.length)
              .isInstanceOf(ZipException.class);
          assertThatThrownBy(() -> new Gunzip(new ByteArrayInputStream(body)).readAllBytes())
              .as("%d bytes, %d of garbage, beginning with %d", count, garbage, start.length)
              .isInstanceOf(IOException.class);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 512, 1 << 20})
  void rejectsBytesAfterDeflate(int chunk) throws IOException {
    for (int count : new int[] {0, 500, 100_000}) {
      var compressed = new ByteArrayOutputStream();
      try (var out = new DeflaterOutputStream(compressed)) {
        out.write(bytes(count));
      }
      assertThat(new Inflate(chunked(compressed.toByteArray(), chunk)).readAllBytes())
          .isEqualTo(bytes(count));
      compressed.write(0);
      assertThatThrownBy(() -> new Inflate(chunked(compressed.toByteArray(), chunk)).readAllBytes())
          .isInstanceOf(ZipException.class);
    }
  }
}
