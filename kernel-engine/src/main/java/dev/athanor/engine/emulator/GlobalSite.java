package dev.athanor.engine.emulator;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Where one instruction of compiled code last touched global memory. The buffer is looked up again
 * only when an address lies in another.
 */
final class GlobalSite {

  private final GlobalMemory.Snapshot memory;
  private final int bytes;
  private MemorySegment segment = MemorySegment.NULL;
  private long start;

  /** How many addresses from the start on may be touched. */
  private long extent;

  /**
   * @param bytes what an access touches, which its address has to be a multiple of
   */
  GlobalSite(GlobalMemory.Snapshot memory, int bytes) {
    this.memory = memory;
    this.bytes = bytes;
  }

  /**
   * The offset of an address in the buffer that it lies in.
   *
   * @throws Departure when it may not be touched
   */
  long offset(long address) {
    long offset = address - start;
    // buffers are aligned, hence an offset is where its address is
    return (offset & (bytes - 1)) == 0 && Long.compareUnsigned(offset, extent) < 0
        ? offset
        : find(address);
  }

  private long find(long address) {
    var found = (address & (bytes - 1)) == 0 ? memory.find(address, bytes) : null;
    if (found == null) {
      throw new Departure();
    }
    segment = found.segment();
    start = found.address();
    extent = found.bytes() - bytes + 1;
    return address - start;
  }

  int load8(long offset) {
    return segment.get(ValueLayout.JAVA_BYTE, offset) & 0xFF;
  }

  int load16(long offset) {
    return segment.get(Cells.SHORT, offset) & 0xFFFF;
  }

  int load32(long offset) {
    return segment.get(Cells.INT, offset);
  }

  long load64(long offset) {
    return segment.get(Cells.LONG, offset);
  }

  void store8(long offset, int value) {
    segment.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
  }

  void store16(long offset, int value) {
    segment.set(Cells.SHORT, offset, (short) value);
  }

  void store32(long offset, int value) {
    segment.set(Cells.INT, offset, value);
  }

  void store64(long offset, long value) {
    segment.set(Cells.LONG, offset, value);
  }
}
