package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.emulator.memory.Memory;

/** The bytes in memory that an asynchronous operation reads or writes. */
@FunctionalInterface
public interface ByteRanges {

  /** Takes one range after the other. */
  @FunctionalInterface
  interface Visitor {
    /**
     * Takes consecutive bytes of a memory.
     *
     * @param position of the first byte among those that the operation transfers
     */
    void visit(Memory memory, long offset, long bytes, long position);
  }

  /** Shows a visitor all ranges. */
  void forEach(Visitor visitor);
}
