package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.MemorySegment;

/** Bytes that instructions address: a buffer, or one of the small memories. */
public sealed interface Memory permits Allocation, Memory.Small {

  /** Where its bytes are. */
  MemorySegment segment();

  /** The state space that it belongs to. */
  Space space();

  /**
   * The shared memory of a block, the local memory of its threads one after the other, the
   * parameters of a launch, or the constants of a module. Two are the same only if they are one.
   */
  final class Small implements Memory {
    private final Space space;
    private final MemorySegment segment;

    public Small(Space space, MemorySegment segment) {
      this.space = space;
      this.segment = segment;
    }

    @Override
    public MemorySegment segment() {
      return segment;
    }

    @Override
    public Space space() {
      return space;
    }
  }
}
