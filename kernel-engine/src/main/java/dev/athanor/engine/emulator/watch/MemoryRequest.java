package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the lanes of a warp touch in memory with one instruction, as an {@link Observer} sees it. It
 * is filled anew for each.
 */
public final class MemoryRequest {

  /** What is done with the bytes. */
  public enum Kind {
    LOAD,
    STORE,
    /** Read and written with nobody between. */
    ATOMIC
  }

  private final Instruction instruction;
  private final Kind kind;
  public final @Nullable Memory[] memories = new @Nullable Memory[32];
  public final long[] offsets = new long[32];
  public int warp;
  public int mask;
  public int bytes;

  /** How many bytes each lane touches, where that differs; null = {@link #bytes}. */
  public int @Nullable [] lengths;

  /** The lanes whose atomic operation has left what was there: a comparison that failed. */
  public int unwritten;

  /** What lanes store, an element each; null = they load, or it does not matter. */
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

  /** The warp's number in its block. */
  public int warp() {
    return warp;
  }

  /** The lanes that touch memory, lane 0 in the lowest bit. */
  public int mask() {
    return mask;
  }

  /** How many bytes a lane touches at most, at a multiple of which they begin. */
  public int bytes() {
    return bytes;
  }

  /** How many bytes a lane touches. */
  public int bytes(int lane) {
    return lengths == null ? bytes : lengths[lane];
  }

  /** Whether two lanes store the same. */
  public boolean agree(int lane, int other) {
    var stored = values;
    if (stored == null) {
      return false;
    }
    for (var value : stored) {
      if (value.bits(32 * warp + lane) != value.bits(32 * warp + other)) {
        return false;
      }
    }
    return true;
  }

  /** Whether what a lane stores is there already. */
  public boolean isThere(int lane) {
    var stored = values;
    if (stored == null) {
      return false;
    }
    int size = bytes / stored.size();
    var segment = memory(lane).segment();
    for (int i = 0; i < stored.size(); i++) {
      long value = stored.get(i).bits(32 * warp + lane);
      for (int at = 0; at < size; at++) {
        if (segment.get(ValueLayout.JAVA_BYTE, offsets[lane] + (long) i * size + at)
            != (byte) (value >>> (8 * at))) {
          return false;
        }
      }
    }
    return true;
  }

  /** The memory that a lane touches; an object for each buffer, block and so on. */
  public Memory memory(int lane) {
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
