package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.MemorySegment;

/** Memory that instructions address: a buffer, or the memory of another state space. */
public sealed interface Memory permits Allocation, Memory.Small {

  /** The bytes. */
  MemorySegment segment();

  /** The state space. */
  Space space();

  /**
   * The shared memory of a block, the local memory of its threads one after another, the parameters
   * of a launch, or the constants of a module. Equality is identity.
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
