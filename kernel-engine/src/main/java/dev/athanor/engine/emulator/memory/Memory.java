package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.MemorySegment;

/** Memory that instructions address: a buffer, or the memory of another state space. */
public sealed interface Memory permits Allocation, Memory.Small {

  /** The bytes. */
  MemorySegment segment();

  /** The state space; that of tensor memory is {@link Space#SHARED}. */
  Space space();

  /** Returns whether this is the tensor memory of a block. */
  default boolean isTensorMemory() {
    return false;
  }

  /**
   * The shared memory of a block, the local memory of its threads one after another, the parameters
   * of a launch, or the constants of a module. Equality is identity.
   */
  final class Small implements Memory {
    private final Space space;
    private final MemorySegment segment;
    private final boolean holdsTensors;

    public Small(Space space, MemorySegment segment) {
      this(space, segment, false);
    }

    private Small(Space space, MemorySegment segment, boolean holdsTensors) {
      this.space = space;
      this.segment = segment;
      this.holdsTensors = holdsTensors;
    }

    /** Returns the tensor memory of a block, which its threads share but cannot address. */
    public static Small ofTensors(MemorySegment segment) {
      return new Small(Space.SHARED, segment, true);
    }

    @Override
    public boolean isTensorMemory() {
      return holdsTensors;
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
