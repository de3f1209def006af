package dev.athanor.engine.emulator.step;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The addresses that an instruction accesses: a 32- or 64-bit register plus a constant, in one
 * state space or generic. Resolves addresses to memories and offsets, and reports those that may
 * not be accessed.
 */
public final class Addresses {

  /** The pattern of the addresses of a gang. */
  enum Pattern {
    /** Not all in one memory, or misaligned: each address has to be resolved by itself. */
    UNSURE,
    SCATTERED,
    /** The bytes of each lane follow those of the lane before. */
    CONSECUTIVE
  }

  private final Block block;
  private final Instruction instruction;

  /** null = generic */
  private final @Nullable Space space;

  private final long @Nullable [] wide;
  private final int @Nullable [] narrow;
  private final long displacement;
  private @Nullable Allocation last;

  /** The snapshot that contains the last allocation. */
  private GlobalMemory.@Nullable Snapshot snapshot;

  private Memory memory;

  /** Returns the state space that an instruction names; null for a generic access. */
  public static @Nullable Space space(Instruction instruction) {
    return instruction.modifiers().find(Space.class).orElse(null);
  }

  /**
   * @param space the state space of the instruction; null = generic
   * @param base the address register, 32 or 64 bits wide
   */
  public Addresses(
      Block block, Instruction instruction, @Nullable Space space, Lanes base, long displacement) {
    this.block = block;
    this.instruction = instruction;
    this.space = space == Space.SHARED_CTA ? Space.SHARED : space;
    this.wide = base.storage() == RegisterStorage.LONG ? base.longs() : null;
    this.narrow = base.storage() == RegisterStorage.INT ? base.ints() : null;
    if (wide == null && narrow == null) {
      throw new IllegalArgumentException("an address is in a register of 32 or 64 bits");
    }
    this.displacement = displacement;
    this.memory = block.sharedMemory;
  }

  /** Returns the address of a lane. */
  long of(int lane) {
    if (wide != null) {
      return wide[lane] + displacement;
    }
    return (requireNonNull(narrow)[lane] & 0xFFFF_FFFFL) + displacement;
  }

  /** Returns the memory that contains the last resolved address. */
  public Memory memory() {
    return memory;
  }

  /** Returns the bytes of that memory. */
  public MemorySegment segment() {
    return memory.segment();
  }

  private Space space(long address) {
    return space == null ? AddressWindow.space(address) : space;
  }

  /** Returns the address of byte 0 of a memory, as this instruction addresses it. */
  private long start(Space of) {
    return space == null ? AddressWindow.start(of) : 0;
  }

  /**
   * Resolves the offsets of whole warps at once if all lie in one memory and are aligned; leaves
   * them in the block's scratch array.
   */
  Pattern offsets(int lo, int hi, int bytes) {
    var first = space(of(lo));
    return switch (first) {
      case SHARED, SHARED_CTA, SHARED_CLUSTER ->
          offsets(
              lo,
              hi,
              bytes,
              start(first),
              block.sharedMemory); // addresses in peers are resolved one by one
      case PARAM -> offsets(lo, hi, bytes, start(first), block.parameterMemory);
      case CONST -> offsets(lo, hi, bytes, start(first), block.constants);
      case LOCAL -> local(lo, hi, bytes);
      case GLOBAL -> global(lo, hi, bytes);
    };
  }

  private Pattern offsets(int lo, int hi, int bytes, long start, Memory small) {
    memory = small;
    return offsets(lo, hi, bytes, start, small.segment().byteSize() - bytes);
  }

  /** Returns the last accessed allocation if it still exists; null otherwise. */
  private @Nullable Allocation last() {
    if (snapshot != block.memory) { // another launch has begun
      snapshot = block.memory;
      last = null;
    }
    return last;
  }

  private Pattern global(int lo, int hi, int bytes) {
    var last = last();
    if (last != null) {
      var pattern = offsets(lo, hi, bytes, last.address(), last.bytes() - bytes);
      if (pattern != Pattern.UNSURE) {
        memory = last;
        return pattern;
      }
    }
    var found = block.memory.find(of(lo), bytes);
    if (found == null || found.equals(last)) {
      return Pattern.UNSURE;
    }
    this.last = found;
    memory = found;
    return offsets(lo, hi, bytes, found.address(), found.bytes() - bytes);
  }

  /** Resolves addresses in local memory, where each lane has a frame of its own. */
  private Pattern local(int lo, int hi, int bytes) {
    memory = block.localMemory;
    var pattern = offsets(lo, hi, bytes, start(Space.LOCAL), block.localBytes - bytes);
    if (pattern == Pattern.UNSURE) {
      return pattern;
    }
    for (int i = lo; i < hi; i++) {
      block.scratch[i] += (long) i * block.localBytes;
    }
    return Pattern.SCATTERED;
  }

  private Pattern offsets(int lo, int hi, int bytes, long start, long greatest) {
    if (greatest < 0) {
      return Pattern.UNSURE;
    }
    // The sign of the union shows an offset out of bounds, its low bits a misaligned one;
    // the JIT vectorizes loops with one union each.
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

  /** Writes the offsets from a start address and returns their union. */
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
   * Returns the offset of one lane in {@link #segment}.
   *
   * @param bytes the number of bytes accessed
   * @param alignment the required alignment of the address
   * @return -1 if the address is invalid; {@link #fault} says why
   */
  public long offset(int lane, long bytes, int alignment) {
    long address = of(lane);
    if ((address & (alignment - 1)) != 0) {
      return -1;
    }
    var in = space(address);
    long at = address - start(in);
    return switch (in) {
      case SHARED, SHARED_CTA ->
          space == null ? inCluster(at, bytes) : inside(block.sharedMemory, at, bytes);
      case SHARED_CLUSTER -> inCluster(at, bytes);
      case PARAM -> inside(block.parameterMemory, at, bytes);
      case CONST -> inside(block.constants, at, bytes);
      case LOCAL -> {
        memory = block.localMemory;
        yield at >= 0 && at <= block.localBytes - bytes ? (long) lane * block.localBytes + at : -1;
      }
      case GLOBAL -> inBuffer(address, bytes);
    };
  }

  /** Resolves an address in the shared memory of any block of the cluster. */
  private long inCluster(long at, long bytes) {
    long rank = (at >>> AddressWindow.PEER_SHIFT) - 1;
    if (rank < 0) {
      return inside(block.sharedMemory, at, bytes);
    }
    if (rank >= block.cluster.size()) {
      memory = block.sharedMemory;
      return -1;
    }
    var peer = block.cluster.block((int) rank);
    return inside(peer.sharedMemory, at & ((1L << AddressWindow.PEER_SHIFT) - 1), bytes);
  }

  private long inside(Memory small, long at, long bytes) {
    memory = small;
    return at >= 0 && at <= small.segment().byteSize() - bytes ? at : -1;
  }

  private long inBuffer(long address, long bytes) {
    var allocation = last();
    if (allocation == null
        || address < allocation.address()
        || address - allocation.address() > allocation.bytes() - bytes) {
      allocation = block.memory.find(address, bytes);
      if (allocation == null) {
        return -1;
      }
      last = allocation;
    }
    memory = allocation;
    return address - allocation.address();
  }

  /** Describes why the address of a lane is invalid. */
  private String problem(int lane, long bytes, int alignment) {
    long address = of(lane);
    if ((address & (alignment - 1)) != 0) {
      return "address 0x%x is not a multiple of %d".formatted(address, alignment);
    }
    var in = space(address);
    long at = address - start(in);
    return switch (in) {
      case GLOBAL -> block.memory.describe(address, bytes);
      case LOCAL ->
          "touches bytes %d..%d of %d bytes of the thread's local memory"
              .formatted(at, at + bytes - 1, block.localBytes);
      case SHARED, SHARED_CTA, SHARED_CLUSTER, PARAM, CONST -> {
        offset(lane, bytes, alignment); // resolves the address
        boolean peers = in.isShared() && (space == null || space == Space.SHARED_CLUSTER);
        long rank = peers ? (at >>> AddressWindow.PEER_SHIFT) - 1 : -1;
        long offset = peers ? at & ((1L << AddressWindow.PEER_SHIFT) - 1) : at;
        var name =
            switch (in) {
              case PARAM -> "the parameters";
              case CONST -> "constants";
              default ->
                  rank < 0
                      ? "shared memory"
                      : "the shared memory of block %d of the %d of the cluster"
                          .formatted(rank, block.cluster.size());
            };
        yield "touches bytes %d..%d of %d bytes of %s"
            .formatted(offset, offset + bytes - 1, segment().byteSize(), name);
      }
    };
  }

  /** Throws the fault of the lanes of a warp with invalid addresses, if there are any. */
  void check(int warp, int mask, int bytes) {
    var reports = new ArrayList<Report>();
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = Warps.firstThread(warp, left);
      if (offset(lane, bytes, bytes) < 0) {
        reports.add(report(lane, bytes, bytes));
      }
    }
    if (!reports.isEmpty()) {
      throw new Fault(reports);
    }
  }

  /**
   * Resolves the accesses of the lanes of a warp.
   *
   * @throws Fault if an address is invalid
   */
  public void resolve(int warp, int mask, int bytes, MemoryRequest into) {
    check(warp, mask, bytes);
    into.warp = warp;
    into.mask = mask;
    into.bytes = bytes;
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      into.offsets[lane] = offset(Warps.thread(warp, lane), bytes, bytes);
      into.memories[lane] = memory;
    }
  }

  /** Fills in a request of a whole warp from its resolved {@link #offsets}. */
  void resolved(int warp, int bytes, MemoryRequest into) {
    into.warp = warp;
    into.mask = -1;
    into.bytes = bytes;
    System.arraycopy(block.scratch, Warps.SIZE * warp, into.offsets, 0, Warps.SIZE);
    Arrays.fill(into.memories, memory);
  }

  private Report report(int lane, long bytes, int alignment) {
    return block.report(kind(lane, alignment), lane, instruction, problem(lane, bytes, alignment));
  }

  private Kind kind(int lane, int alignment) {
    long address = of(lane);
    return (address & (alignment - 1)) != 0
        ? Kind.MISALIGNED
        : space(address) == Space.GLOBAL ? block.memory.faultKind(address) : Kind.OUT_OF_BOUNDS;
  }

  /** Returns the fault of one lane with an invalid address. */
  public Fault fault(int lane, long bytes, int alignment) {
    return new Fault(List.of(report(lane, bytes, alignment)));
  }
}
