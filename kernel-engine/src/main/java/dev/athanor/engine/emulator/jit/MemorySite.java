package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * The memory that one load or store of compiled code accessed last. It is looked up again only if
 * an address lies outside it.
 */
final class MemorySite {

  private final Block block;
  private final @Nullable Space space;
  private final int bytes;
  private MemorySegment segment = MemorySegment.NULL;
  private long start;

  /** The number of addresses, from the start on, at which an access is in bounds. */
  private long extent;

  /**
   * @param space of the instruction; null = generic
   * @param bytes the size and the alignment of an access
   */
  MemorySite(Block block, @Nullable Space space, int bytes) {
    this.block = block;
    this.space = space;
    this.bytes = bytes;
  }

  /**
   * Returns the offset of a lane's address in its memory.
   *
   * @throws Bailout if the access is out of bounds or misaligned
   */
  long offset(long address, int lane) {
    long offset = address - start;
    // memories are aligned, hence an offset is aligned if its address is
    return (offset & (bytes - 1)) == 0 && Long.compareUnsigned(offset, extent) < 0
        ? offset
        : find(address, lane);
  }

  private long find(long address, int lane) {
    var in = space == null ? AddressWindow.space(address) : space;
    long first = space == null ? AddressWindow.start(in) : 0;
    extent = 0;
    switch (in) {
      case GLOBAL -> {
        var found = block.memory.find(address, bytes);
        if (found != null) {
          keep(found, found.address(), found.bytes());
        }
      }
      case SHARED, SHARED_CTA, SHARED_CLUSTER -> keep(block.sharedMemory, first);
      case PARAM -> keep(block.parameterMemory, first);
      case CONST -> keep(block.constants, first);
      case LOCAL -> {
        // each lane has its own local memory: not kept
        long at = address - first;
        if ((at & (bytes - 1)) == 0 && at >= 0 && at <= block.localBytes - bytes) {
          segment = block.localMemory.segment();
          return (long) lane * block.localBytes + at;
        }
      }
    }
    long offset = address - start;
    if ((offset & (bytes - 1)) != 0 || Long.compareUnsigned(offset, extent) >= 0) {
      throw new Bailout();
    }
    return offset;
  }

  private void keep(Memory memory, long first) {
    keep(memory, first, memory.segment().byteSize());
  }

  private void keep(Memory memory, long first, long size) {
    segment = memory.segment();
    start = first;
    extent = Math.max(0, size - bytes + 1);
  }

  int load8(long offset) {
    return segment.get(ValueLayout.JAVA_BYTE, offset) & 0xFF;
  }

  int load16(long offset) {
    return segment.get(LaneAccess.SHORT, offset) & 0xFFFF;
  }

  int load32(long offset) {
    return segment.get(LaneAccess.INT, offset);
  }

  long load64(long offset) {
    return segment.get(LaneAccess.LONG, offset);
  }

  void store8(long offset, int value) {
    segment.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
  }

  void store16(long offset, int value) {
    segment.set(LaneAccess.SHORT, offset, (short) value);
  }

  void store32(long offset, int value) {
    segment.set(LaneAccess.INT, offset, value);
  }

  void store64(long offset, long value) {
    segment.set(LaneAccess.LONG, offset, value);
  }
}
