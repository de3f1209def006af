package dev.athanor.service.codec;

import dev.athanor.ops.DType;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** A growable byte buffer. It grows with the received bytes, not with the announced size. */
final class ByteSink extends OutputStream {

  /** A constant, since the JIT optimizes access through constant layouts only. */
  static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final HostAllocator memory;
  private final long limit;
  private final int first;
  private final int growth;
  private final Runnable onOverflow;
  private MemorySegment segment = MemorySegment.NULL;
  private long capacity;
  private long size;

  /**
   * Creates an empty sink for an unknown number of bytes.
   *
   * @param budget the memory and the maximum number of bytes
   * @param onOverflow throws the failure for too many bytes
   */
  ByteSink(DecodeBudget budget, Runnable onOverflow) {
    this(budget.memory(), Math.min(budget.limit(), Integer.MAX_VALUE - 16), 1 << 12, 2, onOverflow);
  }

  private ByteSink(HostAllocator memory, long limit, int first, int growth, Runnable onOverflow) {
    this.memory = memory;
    this.limit = limit;
    this.first = first;
    this.growth = growth;
    this.onOverflow = onOverflow;
  }

  /**
   * Reads bytes until the end or the announced size. The first MiB is allocated at once; then the
   * buffer grows by a factor of eight.
   *
   * @param memory allocates the result
   */
  static MemorySegment readAll(ByteSource in, HostAllocator memory, long said) throws IOException {
    var sink = new ByteSink(memory, said, 1 << 20, 8, () -> {});
    while (sink.size < said) {
      sink.reserve(1);
      int got = in.read(sink.segment.asSlice(sink.size).asByteBuffer());
      if (got < 0) {
        break;
      }
      sink.size += got;
    }
    return sink.toSegment();
  }

  /** Reserves space for one element, which the caller writes at index {@code size / bytes}. */
  MemorySegment reserveElement(DType dtype) {
    reserve(dtype.bytes());
    return segment;
  }

  /** Advances past the written element. */
  void advance(DType dtype) {
    size += dtype.bytes();
  }

  /** Appends a float, little-endian. */
  void putFloat(float value) {
    reserve(Float.BYTES);
    segment.set(FLOAT, size, value);
    size += Float.BYTES;
  }

  long size() {
    return size;
  }

  @Override
  public void write(int b) {
    reserve(1);
    segment.set(ValueLayout.JAVA_BYTE, size++, (byte) b);
  }

  @Override
  public void write(byte[] source, int offset, int length) {
    reserve(length);
    MemorySegment.copy(source, offset, segment, ValueLayout.JAVA_BYTE, size, length);
    size += length;
  }

  private void reserve(int more) {
    if (more > capacity - size) {
      grow(more);
    }
  }

  private void grow(int more) {
    long needed = size + more;
    if (needed > limit) {
      onOverflow.run();
      throw new IllegalStateException("exceeds " + limit + " bytes");
    }
    capacity = Math.min(Math.max(Math.max(growth * capacity, first), needed), limit);
    var larger = memory.allocate(capacity, Double.BYTES);
    if (size > 0) {
      MemorySegment.copy(segment, 0, larger, 0, size);
      memory.release(segment);
    }
    segment = larger;
  }

  MemorySegment toSegment() {
    return segment.asSlice(0, size);
  }
}
