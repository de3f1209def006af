package dev.athanor.engine.emulator;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.emulator.Registers.Lanes;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The addresses that an instruction touches in global or shared memory: a register of 32 or 64 bits
 * and a constant. It turns them into offsets of a segment, and complains of those that may not be
 * touched.
 */
final class Addresses {

  /** What a gang's addresses look like. */
  enum Pattern {
    /** They do not all lie in one allocation, or are misaligned: each has to be looked at. */
    UNSURE,
    SCATTERED,
    /** Each lane's bytes follow those of the lane before. */
    CONSECUTIVE
  }

  private final Block block;
  private final Instruction instruction;
  private final boolean global;
  private final long @Nullable [] wide;
  private final int @Nullable [] narrow;
  private final long displacement;
  private @Nullable Allocation last;

  /**
   * @param base the register, of 32 or 64 bits
   */
  Addresses(Block block, Instruction instruction, Space space, Lanes base, long displacement) {
    this.block = block;
    this.instruction = instruction;
    this.global = space == Space.GLOBAL;
    this.wide = base.storage() == Storage.LONG ? base.longs() : null;
    this.narrow = base.storage() == Storage.INT ? base.ints() : null;
    if (wide == null && narrow == null) {
      throw new IllegalArgumentException("an address is in a register of 32 or 64 bits");
    }
    this.displacement = displacement;
  }

  /** The address of a lane. */
  long of(int lane) {
    if (wide != null) {
      return wide[lane] + displacement;
    }
    return (requireNonNull(narrow)[lane] & 0xFFFF_FFFFL) + displacement;
  }

  /** The memory that the last address looked at lies in. */
  MemorySegment segment() {
    return last == null ? block.shared : last.segment();
  }

  /**
   * Finds the offsets of whole warps at once, if all lie in one allocation and are aligned. They
   * are left in the block's scratch.
   */
  Pattern offsets(int lo, int hi, int bytes) {
    if (!global) {
      return offsets(lo, hi, bytes, 0, block.shared.byteSize() - bytes);
    }
    if (last != null) {
      var pattern = offsets(lo, hi, bytes, last.address(), last.bytes() - bytes);
      if (pattern != Pattern.UNSURE) {
        return pattern;
      }
    }
    var found = block.memory.find(of(lo), bytes);
    if (found == null || found.equals(last)) {
      return Pattern.UNSURE;
    }
    last = found;
    return offsets(lo, hi, bytes, found.address(), found.bytes() - bytes);
  }

  private Pattern offsets(int lo, int hi, int bytes, long start, long greatest) {
    if (greatest < 0) {
      return Pattern.UNSURE;
    }
    // the sign of a union tells of one that is out of bounds, its low bits of one misaligned;
    // one union a loop is what the JIT makes vectors of
    var out = block.scratch;
    long union = wide != null ? shift(wide, out, lo, hi, start) : shift(out, lo, hi, start);
    long beyond = 0;
    for (int i = lo; i < hi; i++) {
      beyond |= greatest - out[i];
    }
    if ((union | beyond) < 0 || (union & (bytes - 1)) != 0) {
      return Pattern.UNSURE;
    }
    if (out[hi - 1] - out[lo] != (long) (hi - 1 - lo) * bytes) {
      return Pattern.SCATTERED;
    }
    for (int i = lo + 1; i < hi; i++) {
      if (out[i] - out[i - 1] != bytes) {
        return Pattern.SCATTERED;
      }
    }
    return Pattern.CONSECUTIVE;
  }

  /** Leaves the offsets from a start, and answers their union. */
  private long shift(long[] base, long[] out, int lo, int hi, long start) {
    long shift = displacement - start;
    long union = 0;
    for (int i = lo; i < hi; i++) {
      long offset = base[i] + shift;
      out[i] = offset;
      union |= offset;
    }
    return union;
  }

  private long shift(long[] out, int lo, int hi, long start) {
    var base = requireNonNull(narrow);
    long shift = displacement - start;
    long union = 0;
    for (int i = lo; i < hi; i++) {
      long offset = (base[i] & 0xFFFF_FFFFL) + shift;
      out[i] = offset;
      union |= offset;
    }
    return union;
  }

  /**
   * The offset of one lane in {@link #segment}.
   *
   * @param bytes how many are touched
   * @param alignment what the address must be a multiple of
   * @return -1 when the address is wrong; {@link #complaint} says why
   */
  long offset(int lane, long bytes, int alignment) {
    long address = of(lane);
    if ((address & (alignment - 1)) != 0) {
      return -1;
    }
    if (!global) {
      return address >= 0 && address <= block.shared.byteSize() - bytes ? address : -1;
    }
    var allocation = last;
    if (allocation == null
        || address < allocation.address()
        || address - allocation.address() > allocation.bytes() - bytes) {
      allocation = block.memory.find(address, bytes);
      if (allocation == null) {
        return -1;
      }
      last = allocation;
    }
    return address - allocation.address();
  }

  /** What is wrong with the address of a lane. */
  private String complaint(int lane, long bytes, int alignment) {
    long address = of(lane);
    if ((address & (alignment - 1)) != 0) {
      return "address 0x%x is no multiple of %d".formatted(address, alignment);
    }
    return global
        ? block.memory.describe(address, bytes)
        : "touches bytes %d..%d of %d bytes of shared memory"
            .formatted(address, address + bytes - 1, block.shared.byteSize());
  }

  /** The fault of all lanes of a warp whose addresses are wrong, or nothing when there are none. */
  void check(int warp, int mask, int bytes) {
    var reports = new ArrayList<String>();
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = 32 * warp + Integer.numberOfTrailingZeros(left);
      if (offset(lane, bytes, bytes) < 0) {
        reports.add(report(lane, bytes, bytes));
      }
    }
    if (!reports.isEmpty()) {
      throw new Fault(reports);
    }
  }

  private String report(int lane, long bytes, int alignment) {
    return block.report(lane, instruction, complaint(lane, bytes, alignment));
  }

  /** The fault of one lane whose address is wrong. */
  Fault fault(int lane, long bytes, int alignment) {
    return new Fault(List.of(report(lane, bytes, alignment)));
  }
}
