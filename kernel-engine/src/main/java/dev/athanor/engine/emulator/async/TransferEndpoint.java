package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.step.Atomic;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.ByteRanges;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics.AtomicFunction;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** One end of an asynchronous transfer: the order of its bytes in memory. */
public interface TransferEndpoint extends ByteRanges {

  /** The granularity of swizzles, in bytes. */
  int CHUNK = 16;

  /** Copies all bytes out. */
  void read(MemorySegment to);

  /** Overwrites all bytes. */
  void write(MemorySegment from);

  /** Combines the bytes with elements. */
  void combine(MemorySegment from, Reduction reduction);

  /**
   * A reduction at the target of a transfer.
   *
   * @param size bytes of an element
   */
  record Reduction(Block block, AtomicFunction function, int size) {

    /** Combines a run of elements with those in memory. */
    void apply(Memory memory, long offset, MemorySegment from, long at, long bytes) {
      boolean global = memory.space() == Space.GLOBAL;
      for (long i = 0; i < bytes; i += size) {
        long value =
            switch (size) {
              case Short.BYTES -> from.get(LaneAccess.SHORT, at + i) & 0xFFFFL;
              case Integer.BYTES -> from.get(LaneAccess.INT, at + i) & 0xFFFF_FFFFL;
              default -> from.get(LaneAccess.LONG, at + i);
            };
        Atomic.update(
            block,
            memory.segment(),
            offset + i,
            size,
            old -> function.apply(old, value, 0, global));
      }
    }
  }

  /**
   * Contiguous bytes.
   *
   * @param offset the offset of the first byte in the memory
   * @param mask bit {@code i} says whether byte {@code i} of each 16 is written
   */
  record Row(Memory memory, long offset, long bytes, int mask) implements TransferEndpoint {

    static final int ALL = 0xFFFF;

    @Override
    public void read(MemorySegment to) {
      MemorySegment.copy(memory.segment(), offset, to, 0, bytes);
    }

    @Override
    public void write(MemorySegment from) {
      if (mask == ALL) {
        MemorySegment.copy(from, 0, memory.segment(), offset, bytes);
        return;
      }
      for (long i = 0; i < bytes; i++) {
        if (((mask >>> (i % CHUNK)) & 1) != 0) {
          byte one = from.get(ValueLayout.JAVA_BYTE, i);
          memory.segment().set(ValueLayout.JAVA_BYTE, offset + i, one);
        }
      }
    }

    @Override
    public void forEach(Visitor visitor) {
      if (mask == ALL) {
        visitor.visit(memory, offset, bytes, 0);
        return;
      }
      for (long i = 0; i < bytes; i++) {
        if (((mask >>> (i % CHUNK)) & 1) != 0) {
          visitor.visit(memory, offset + i, 1, i);
        }
      }
    }

    @Override
    public void combine(MemorySegment from, Reduction reduction) {
      reduction.apply(memory, offset, from, 0, bytes);
    }
  }

  /** A value that is not in memory. */
  record Value(long low, long high) implements TransferEndpoint {
    @Override
    public void read(MemorySegment to) {
      for (long i = 0; i < to.byteSize(); i++) {
        long bits = i < Long.BYTES ? low : high;
        to.set(ValueLayout.JAVA_BYTE, i, (byte) (bits >>> (8 * (i % Long.BYTES))));
      }
    }

    @Override
    public void write(MemorySegment from) {
      throw new IllegalStateException("a value is not written");
    }

    @Override
    public void forEach(Visitor visitor) {}

    @Override
    public void combine(MemorySegment from, Reduction reduction) {
      throw new IllegalStateException("a value is not written");
    }
  }
}
