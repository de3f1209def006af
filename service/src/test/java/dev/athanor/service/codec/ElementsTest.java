package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ElementsTest {

  private static final int BUFFER_BYTES = 64;

  /** Reads all elements through a small off-heap buffer. */
  private static byte[] all(Elements elements) throws IOException {
    var all = new ByteArrayOutputStream();
    try (var arena = Arena.ofConfined()) {
      var buffer = arena.allocate(BUFFER_BYTES);
      while (elements.left() > 0) {
        assertThat(elements.at()).isEqualTo(all.size());
        var part = elements.read(buffer);
        assertThat(part.byteSize()).isBetween(1L, (long) BUFFER_BYTES);
        all.writeBytes(part.toArray(ValueLayout.JAVA_BYTE));
      }
    }
    return all.toByteArray();
  }

  private static ByteSource source(byte[] bytes) {
    return ByteSource.of(new ByteArrayInputStream(bytes));
  }

  private static byte[] pattern(int bytes) {
    var pattern = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      pattern[i] = (byte) i;
    }
    return pattern;
  }

  @Test
  void readsElementsUnchanged() throws IOException {
    var type = TensorType.of(DType.F32, 5, 10);
    assertThat(all(Elements.of(type, source(pattern(200)), 200, "body"))).isEqualTo(pattern(200));
    assertThat(Elements.of(type, source(pattern(200)), 200, "body").toTensor().data())
        .matches(data -> data.mismatch(MemorySegment.ofArray(pattern(200))) < 0);
  }

  @ParameterizedTest
  @CsvSource({
    "199, 'f32[5, 10] needs 200 bytes of data, got 199'",
    "201, 'f32[5, 10] needs 200 bytes of data, got more'"
  })
  void rejectsTooFewOrTooManyBytes(int bytes, String message) {
    var elements = Elements.of(TensorType.of(DType.F32, 5, 10), source(pattern(bytes)), 200, "b");
    assertThatThrownBy(() -> all(elements)).isInstanceOf(Failure.class).hasMessage(message);
  }

  @Test
  void checksEveryBool() {
    var bytes = new byte[200];
    bytes[100] = 1;
    bytes[150] = 2;
    var elements = Elements.of(TensorType.of(DType.BOOL, 200), source(bytes), 200, "body");
    assertThatThrownBy(() -> all(elements))
        .hasMessage("byte 150 of a bool tensor is 2; it must be 0 or 1");
  }

  private static byte[] npy(String descr, boolean fortran, String shape, byte[] data) {
    var header =
        "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }"
            .formatted(descr, fortran ? "True" : "False", shape)
            .getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocate(10 + header.length + data.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0})
        .putShort((short) header.length)
        .put(header)
        .put(data)
        .array();
  }

  @ParameterizedTest
  @CsvSource({"2, 100, >i2", "4, 50, >f4", "8, 25, >i8", "1, 200, |u1"})
  void swapsTheBytesOfBigEndianArrays(int width, int count, String descr) throws IOException {
    var sent = pattern(200);
    var swapped = new byte[200];
    for (int i = 0; i < 200; i++) {
      swapped[i / width * width + width - 1 - i % width] = sent[i];
    }
    var elements =
        Npy.open(source(npy(descr, false, count + ",", sent)), DecodeBudget.onHeap(200), "body");
    assertThat(elements.type().shape().extents()).containsExactly((long) count);
    assertThat(all(elements)).isEqualTo(swapped);
  }

  @ParameterizedTest
  @CsvSource({"<i2, 0", ">i2, 1"})
  void transposesArraysInFortranOrder(String descr, int low) throws IOException {
    int rows = 10;
    int columns = 7;
    var sent = new byte[2 * rows * columns];
    var expected = new byte[sent.length];
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < columns; c++) {
        sent[2 * (c * rows + r) + low] = (byte) (r * columns + c);
        expected[2 * (r * columns + c)] = (byte) (r * columns + c);
      }
    }
    var elements =
        Npy.open(
            source(npy(descr, true, rows + ", " + columns, sent)),
            DecodeBudget.onHeap(1000),
            "body");
    assertThat(all(elements)).isEqualTo(expected);
  }

  @Test
  void rejectsTooLargeArraysBeforeReading() {
    for (boolean fortran : new boolean[] {false, true}) {
      var file = npy("<f4", fortran, "50,", new byte[0]);
      assertThatThrownBy(() -> Npy.open(source(file), DecodeBudget.onHeap(199), "body"))
          .hasMessage("f32[50] needs 200 bytes; the limit is 199 bytes");
    }
  }

  /** Tests all ways of reading. */
  @Test
  void digestCoversAllBytes() throws IOException, NoSuchAlgorithmException {
    var bytes = pattern(300);
    var digested = new Digested(source(bytes));
    assertThat(digested.read()).isZero();
    assertThat(digested.readNBytes(9)).hasSize(9);
    all(Elements.of(TensorType.of(DType.U8, 200), new Limited(digested, 200), 200, "body"));
    digested.drain();
    assertThat(digested.sha256())
        .isEqualTo(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)));
  }

  /** The first bytes of a source. */
  private static final class Limited extends ByteSource {
    private final ByteSource in;
    private int left;

    Limited(ByteSource in, int left) {
      this.in = in;
      this.left = left;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      int n = left == 0 ? -1 : in.read(target, offset, Math.min(length, left));
      left -= Math.max(n, 0);
      return n;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      if (left == 0) {
        return -1;
      }
      int end = target.limit();
      target.limit(target.position() + Math.min(target.remaining(), left));
      int n = in.read(target);
      target.limit(end);
      left -= Math.max(n, 0);
      return n;
    }
  }
}
