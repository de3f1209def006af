package dev.athanor.service.codec;

import dev.athanor.ops.DType;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Bytes that grow as they arrive, so that memory follows what was sent and not what was said. */
final class ByteSink extends OutputStream {

  private static final int FIRST = 4096;

  private static final VarHandle FLOAT =
      MethodHandles.byteArrayViewVarHandle(float[].class, ByteOrder.LITTLE_ENDIAN);

  private final long limit;
  private final long expected;
  private final Runnable onOverflow;
  private byte[] bytes;
  private MemorySegment segment;
  private int size;

  /**
   * @param expected how many bytes there will probably be
   * @param limit how many there may be
   * @param onOverflow throws what tells the client of one byte too many
   */
  ByteSink(long expected, long limit, Runnable onOverflow) {
    this.limit = Math.min(limit, Integer.MAX_VALUE - 16);
    this.expected = Math.clamp(expected, 0, this.limit);
    this.onOverflow = onOverflow;
    bytes = new byte[Math.clamp(expected, 0, FIRST)];
    segment = MemorySegment.ofArray(bytes);
  }

  /** Room for one element at the end; the caller writes it at index {@code size / bytes}. */
  MemorySegment room(DType dtype) {
    reserve(dtype.bytes());
    return segment;
  }

  /** Says that the element was written. */
  void advance(DType dtype) {
    size += dtype.bytes();
  }

  /** Appends a float, little-endian. */
  void putFloat(float value) {
    reserve(Float.BYTES);
    FLOAT.set(bytes, size, value);
    size += Float.BYTES;
  }

  int size() {
    return size;
  }

  @Override
  public void write(int b) {
    reserve(1);
    bytes[size++] = (byte) b;
  }

  @Override
  public void write(byte[] source, int offset, int length) {
    reserve(length);
    System.arraycopy(source, offset, bytes, size, length);
    size += length;
  }

  private void reserve(int more) {
    if (more > bytes.length - size) {
      grow(more);
    }
  }

  private void grow(int more) {
    long needed = size + (long) more;
    if (needed > limit) {
      onOverflow.run();
      throw new IllegalStateException("more than " + limit + " bytes");
    }
    long grown = Math.max(Math.max(2L * bytes.length, FIRST), needed);
    if (needed >= expected / 4) {
      grown = Math.max(grown, expected); // whoever sent a quarter is believed the rest
    }
    bytes = Arrays.copyOf(bytes, (int) Math.min(grown, limit));
    segment = MemorySegment.ofArray(bytes);
  }

  MemorySegment toSegment() {
    return MemorySegment.ofArray(size == bytes.length ? bytes : Arrays.copyOf(bytes, size));
  }
}
