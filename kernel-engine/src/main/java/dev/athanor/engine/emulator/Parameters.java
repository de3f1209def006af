package dev.athanor.engine.emulator;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** How compiled code reads the parameters of a launch. */
final class Parameters {

  private Parameters() {}

  static int load8(MemorySegment from, long offset) {
    return from.get(ValueLayout.JAVA_BYTE, offset) & 0xFF;
  }

  static int load16(MemorySegment from, long offset) {
    return from.get(Cells.SHORT, offset) & 0xFFFF;
  }

  static int load32(MemorySegment from, long offset) {
    return from.get(Cells.INT, offset);
  }

  static long load64(MemorySegment from, long offset) {
    return from.get(Cells.LONG, offset);
  }
}
