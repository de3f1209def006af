package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;

/** A body that was read as a whole, in pieces of memory that count toward the request's. */
public final class HeldBody extends InputStream {

  private static final int PIECE = 1 << 20;

  private final Deque<MemorySegment> pieces = new ArrayDeque<>();
  private long bytes;

  private HeldBody() {}

  /** Reads a body to its end. */
  public static HeldBody read(ByteSource body, HostAllocator memory) throws IOException {
    return read(body, memory, Long.MAX_VALUE);
  }

  /**
   * Reads a body to its end.
   *
   * @throws Failure.Refused with {@code too-large} if it has more bytes than the limit
   */
  public static HeldBody read(ByteSource body, HostAllocator memory, long limit)
      throws IOException {
    var held = new HeldBody();
    int last;
    do {
      var piece = memory.allocate(PIECE, Long.BYTES);
      last = fill(piece, body);
      held.pieces.add(piece.asSlice(0, last));
      held.bytes += last;
      if (held.bytes > limit) {
        throw new Failure.Refused(
            Code.TOO_LARGE, "the file exceeds the limit of %d bytes".formatted(limit));
      }
    } while (last == PIECE);
    return held;
  }

  private static int fill(MemorySegment piece, ByteSource body) throws IOException {
    var buffer = piece.asByteBuffer();
    while (buffer.hasRemaining() && body.read(buffer) >= 0) {}
    return buffer.position();
  }

  /** Returns the size of the body. */
  public long bytes() {
    return bytes;
  }

  @Override
  public int read() {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] target, int offset, int length) {
    while (!pieces.isEmpty() && pieces.getFirst().byteSize() == 0) {
      pieces.removeFirst();
    }
    if (pieces.isEmpty()) {
      return -1;
    }
    var first = pieces.removeFirst();
    int n = (int) Math.min(length, first.byteSize());
    MemorySegment.copy(first, ValueLayout.JAVA_BYTE, 0, target, offset, n);
    pieces.addFirst(first.asSlice(n));
    return n;
  }
}
