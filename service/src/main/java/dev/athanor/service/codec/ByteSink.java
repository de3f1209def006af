package dev.athanor.service.codec;

import dev.athanor.ops.DType;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Bytes that grow as they arrive, so that memory follows what was sent and not what was said. */
final class ByteSink extends OutputStream {

  /** A constant: layouts that are made for each access are looked up for each. */
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
   * None yet, and nobody knows how many there will be.
   *
   * @param room with the most that there may be
   * @param onOverflow throws what tells the client of one byte too many
   */
  ByteSink(DecodeBudget room, Runnable onOverflow) {
    this(room.memory(), Math.min(room.limit(), Integer.MAX_VALUE - 16), 1 << 12, 2, onOverflow);
  }

  private ByteSink(HostAllocator memory, long limit, int first, int growth, Runnable onOverflow) {
    this.memory = memory;
    this.limit = limit;
    this.first = first;
    this.growth = growth;
    this.onOverflow = onOverflow;
  }

  /**
   * Those that a client sends until the end, or until there are as many as it said. Whoever has
   * sent the first MiB is believed a few times as much.
   *
   * @param memory where they are to lie
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
      throw new IllegalStateException("more than " + limit + " bytes");
    }
    capacity = Math.min(Math.max(Math.max(growth * capacity, first), needed), limit);
    var larger = memory.allocate(capacity, Double.BYTES);
    if (size > 0) {
      MemorySegment.copy(segment, 0, larger, 0, size);
      memory.giveBack(segment);
    }
    segment = larger;
  }

  MemorySegment toSegment() {
    return segment.asSlice(0, size);
  }
}
