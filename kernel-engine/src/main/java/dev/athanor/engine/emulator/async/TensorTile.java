package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.EncodedTensorMap;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Memory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A tile of a tensor in global memory, with its elements in the order of the dimensions, innermost
 * fastest. Elements outside of the tensor read as the map's fill value and are not written.
 */
final class TensorTile implements TransferEndpoint {

  private final TensorMap map;
  private final long address;
  private final int[] start;
  private final GlobalMemory.Snapshot memory;
  private @Nullable Allocation last;

  /**
   * @param start the coordinates of the first element, innermost first
   */
  TensorTile(EncodedTensorMap encoded, int[] start, GlobalMemory.Snapshot memory) {
    this.map = encoded.map();
    this.address = encoded.address();
    this.start = start;
    this.memory = memory;
  }

  /** Processes the part of a row that lies within the tensor. */
  @FunctionalInterface
  private interface Run {
    void apply(Allocation buffer, long offset, long at, long bytes);
  }

  /**
   * Returns why the tile may not be accessed; null if it may. The result holds as long as no buffer
   * is freed.
   */
  @Nullable String problem() {
    var wrong = new String[1];
    rows((from, bytes, _) -> {
      if (memory.find(from, bytes) == null) {
        wrong[0] = memory.describe(from, bytes);
      }
    });
    return wrong[0];
  }

  @Override
  public void read(MemorySegment to) {
    fill(to);
    runs(
        (buffer, offset, at, bytes) -> MemorySegment.copy(buffer.segment(), offset, to, at, bytes));
  }

  private void fill(MemorySegment to) {
    if (map.fill() == Fill.ZERO) {
      to.fill((byte) 0);
      return;
    }
    for (long at = 0; at < to.byteSize(); at += map.element().bytes()) {
      switch (map.element().bytes()) {
        case Short.BYTES -> to.set(LaneAccess.SHORT, at, (short) 0x7FFF);
        case Integer.BYTES -> to.set(LaneAccess.INT, at, 0x7FFF_FFFF);
        default -> to.set(LaneAccess.LONG, at, Long.MAX_VALUE);
      }
    }
  }

  @Override
  public void write(MemorySegment from) {
    runs((buffer, offset, at, bytes) ->
        MemorySegment.copy(from, at, buffer.segment(), offset, bytes));
  }

  @Override
  public void forEach(Visitor visitor) {
    runs((buffer, offset, at, bytes) -> visitor.visit(buffer, offset, bytes, at));
  }

  @Override
  public void combine(MemorySegment from, Reduction reduction) {
    runs((buffer, offset, at, bytes) -> reduction.apply(buffer, offset, from, at, bytes));
  }

  private void runs(Run run) {
    rows((from, bytes, at) -> {
      var buffer = last;
      if (buffer == null
          || from < buffer.address()
          || from - buffer.address() > buffer.bytes() - bytes) {
        buffer = memory.find(from, bytes);
        if (buffer == null) {
          throw new IllegalStateException(memory.describe(from, bytes));
        }
        last = buffer;
      }
      run.apply(buffer, from - buffer.address(), at, bytes);
    });
  }

  /**
   * Receives the part of a row within the tensor: its address, its length, and its offset in the
   * tile.
   */
  @FunctionalInterface
  private interface Row {
    void apply(long from, long bytes, long at);
  }

  private void rows(Row row) {
    int size = map.element().bytes();
    int length = map.copied(0);
    long first = Math.max(0, -(long) start[0]);
    long end = Math.min(length, map.sizes().getFirst() - start[0]);
    if (first >= end) {
      return;
    }
    int rank = start.length;
    int rows = map.tileBytes() / (length * size);
    for (int number = 0; number < rows; number++) {
      long from = address + (start[0] + first) * size;
      boolean inside = true;
      int rest = number;
      for (int i = 1; i < rank; i++) {
        long coordinate = start[i] + (long) (rest % map.copied(i)) * map.elementStrides().get(i);
        rest /= map.copied(i);
        inside &= coordinate >= 0 && coordinate < map.sizes().get(i);
        from += coordinate * map.strides().get(i - 1);
      }
      if (inside) {
        row.apply(from, (end - first) * size, ((long) number * length + first) * size);
      }
    }
  }

  /**
   * A tile in shared memory, whose 16-byte chunks are swizzled.
   *
   * @param offset the offset of the tile, which is its address
   */
  record Shared(Memory memory, long offset, int bytes, TensorMap.SwizzleMode swizzle)
      implements TransferEndpoint {

    @Override
    public void read(MemorySegment to) {
      for (long at = 0; at < bytes; at += CHUNK) {
        MemorySegment.copy(memory.segment(), swizzle.place(offset + at), to, at, CHUNK);
      }
    }

    @Override
    public void write(MemorySegment from) {
      for (long at = 0; at < bytes; at += CHUNK) {
        MemorySegment.copy(from, at, memory.segment(), swizzle.place(offset + at), CHUNK);
      }
    }

    @Override
    public void forEach(Visitor visitor) {
      for (long at = 0; at < bytes; at += CHUNK) {
        visitor.visit(memory, swizzle.place(offset + at), CHUNK, at);
      }
    }

    @Override
    public void combine(MemorySegment from, Reduction reduction) {
      throw new IllegalStateException("tiles in shared memory are not combined");
    }
  }
}
