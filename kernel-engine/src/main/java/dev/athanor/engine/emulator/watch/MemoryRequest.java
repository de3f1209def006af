package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The memory that the lanes of a warp access with one execution of an instruction, as an {@link
 * Observer} sees it. Each instruction has one object, which is filled anew for each execution.
 */
public final class MemoryRequest {

  /** The kind of an access. */
  public enum Kind {
    LOAD,
    STORE,
    /** A read and a write in one atomic operation. */
    ATOMIC
  }

  private final Instruction instruction;
  private final Kind kind;
  public final @Nullable Memory[] memories = new @Nullable Memory[Warps.SIZE];
  public final long[] offsets = new long[Warps.SIZE];
  public int warp;
  public int mask;
  public int bytes;

  /** The bytes of each lane, if they differ; null = {@link #bytes}. */
  public int @Nullable [] lengths;

  /** The lanes whose atomic operation wrote nothing because its comparison failed. */
  public int unwritten;

  /** The elements that lanes store; null = a load, or values that no check needs. */
  public @Nullable List<Lanes> values;

  public MemoryRequest(Instruction instruction, Kind kind) {
    this.instruction = instruction;
    this.kind = kind;
  }

  public Instruction instruction() {
    return instruction;
  }

  public Kind kind() {
    return kind;
  }

  /** Returns the number of the warp in its block. */
  public int warp() {
    return warp;
  }

  /** Returns the lanes that access memory, lane 0 in the lowest bit. */
  public int mask() {
    return mask;
  }

  /** Returns the most bytes of any lane. Addresses are multiples of it. */
  public int bytes() {
    return bytes;
  }

  /** Returns the bytes that a lane accesses. */
  public int bytes(int lane) {
    return lengths == null ? bytes : lengths[lane];
  }

  /** Returns whether two lanes store the same values. */
  public boolean agree(int lane, int other) {
    var stored = values;
    if (stored == null) {
      return false;
    }
    for (var value : stored) {
      if (value.bits(Warps.thread(warp, lane)) != value.bits(Warps.thread(warp, other))) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether memory already holds the values that a lane stores. */
  public boolean isThere(int lane) {
    var stored = values;
    if (stored == null) {
      return false;
    }
    int size = bytes / stored.size();
    var segment = memory(lane).segment();
    for (int i = 0; i < stored.size(); i++) {
      long value = stored.get(i).bits(Warps.thread(warp, lane));
      for (int at = 0; at < size; at++) {
        if (segment.get(ValueLayout.JAVA_BYTE, offsets[lane] + (long) i * size + at)
            != (byte) (value >>> (8 * at))) {
          return false;
        }
      }
    }
    return true;
  }

  /** Returns the memory that a lane accesses: a buffer, the shared memory of a block, ... */
  public Memory memory(int lane) {
    var memory = memories[lane];
    if (memory == null) {
      throw new IllegalArgumentException("lane " + lane + " accesses no memory");
    }
    return memory;
  }

  /** Returns the state space of a lane; {@link Space#SHARED} for shared memory of any block. */
  public Space space(int lane) {
    return memory(lane).space();
  }

  /**
   * Returns the first byte that a lane accesses: its address in global memory, and its offset in
   * other memory. The local memories of threads lie at different offsets of one memory.
   */
  public long address(int lane) {
    return memory(lane) instanceof Allocation buffer
        ? buffer.address() + offsets[lane]
        : offsets[lane];
  }
}
