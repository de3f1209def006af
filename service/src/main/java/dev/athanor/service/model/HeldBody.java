package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;

/**
 * Reads files that outlive their request. While the request lasts, as many bytes of its own memory
 * are allocated, so that its limits apply.
 */
final class HeldBody {

  private static final int PIECE = 1 << 20;

  private final HostAllocator memory;
  private MemorySegment free = MemorySegment.NULL;

  /** Creates a reader that allocates memory of a request. */
  HeldBody(HostAllocator memory) {
    this.memory = memory;
  }

  /** Reads a file to its end. The garbage collector frees the returned memory. */
  MemorySegment read(ByteSource file) throws IOException {
    var pieces = new ArrayList<MemorySegment>();
    long bytes = 0;
    while (true) {
      if (free.byteSize() == 0) {
        free = memory.allocate(PIECE, Long.BYTES);
      }
      int n = file.read(free.asByteBuffer());
      if (n < 0) {
        break;
      }
      pieces.add(free.asSlice(0, n));
      free = free.asSlice(n);
      bytes += n;
    }
    var held = Arena.ofAuto().allocate(bytes, Long.BYTES);
    long at = 0;
    for (var piece : pieces) {
      MemorySegment.copy(piece, 0, held, at, piece.byteSize());
      at += piece.byteSize();
    }
    return held;
  }
}
