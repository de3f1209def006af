package dev.athanor.engine.emulator;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import org.jspecify.annotations.Nullable;

/**
 * What the lanes of a warp touch in memory with one instruction, as an {@link Observer} sees it. It
 * is filled anew for each.
 */
public final class Touch {

  /** What is done with the bytes. */
  public enum Kind {
    LOAD,
    STORE,
    /** Read and written with nobody between. */
    ATOMIC
  }

  private final Instruction instruction;
  private final Kind kind;
  final @Nullable Memory[] memories = new @Nullable Memory[32];
  final long[] offsets = new long[32];
  int warp;
  int mask;
  int bytes;

  Touch(Instruction instruction, Kind kind) {
    this.instruction = instruction;
    this.kind = kind;
  }

  public Instruction instruction() {
    return instruction;
  }

  public Kind kind() {
    return kind;
  }

  /** The warp's number in its block. */
  public int warp() {
    return warp;
  }

  /** The lanes that touch memory, lane 0 in the lowest bit. */
  public int mask() {
    return mask;
  }

  /** How many bytes each lane touches, at a multiple of which they begin. */
  public int bytes() {
    return bytes;
  }

  /** The memory that a lane touches; an object for each buffer, block and so on. */
  Memory memory(int lane) {
    var memory = memories[lane];
    if (memory == null) {
      throw new IllegalArgumentException("lane " + lane + " touches nothing");
    }
    return memory;
  }

  /** The state space that a lane touches; {@link Space#SHARED} for shared memory of any block. */
  public Space space(int lane) {
    return memory(lane).space();
  }

  /**
   * The first byte that a lane touches. In local memory each thread has its own at offsets of its
   * own; in global memory it is the address.
   */
  public long address(int lane) {
    return memory(lane) instanceof Allocation buffer
        ? buffer.address() + offsets[lane]
        : offsets[lane];
  }
}
