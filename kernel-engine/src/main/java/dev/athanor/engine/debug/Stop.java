package dev.athanor.engine.debug;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.ptx.Modifier.Space;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A stop of the launches. The instruction has not been executed yet, except after a fault.
 *
 * @param step how many instructions have been executed before, by warps that run together
 * @param warp the warp that has stopped the others
 * @param breakpoints those that the warp has hit
 * @param finding of the sanitizer, or the fault; null = none
 * @param access the access of the finding; null = none
 */
public record Stop(
    Reason reason,
    long step,
    WarpId warp,
    List<Breakpoint> breakpoints,
    @Nullable Report finding,
    @Nullable Access access) {

  /** Why the launches have stopped. */
  public enum Reason {
    /** Before the first instruction. */
    ENTRY,
    BREAKPOINT,
    STEP,
    PAUSE,
    /** At a position that was asked for. */
    POSITION,
    /** A finding of the sanitizer. */
    FINDING,
    /** A fault, after which the launches cannot go on. */
    FAULT
  }

  /** The bytes that a lane accesses; the address is an offset outside of global memory. */
  public record Access(Space space, long address, int bytes) {
    boolean overlaps(Access other) {
      return space == other.space
          && address < other.address + other.bytes
          && other.address < address + bytes;
    }
  }

  public Stop {
    breakpoints = List.copyOf(breakpoints);
  }
}
