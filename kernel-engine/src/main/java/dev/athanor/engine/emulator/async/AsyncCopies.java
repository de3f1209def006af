package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The {@code cp.async} copies of a block (PTX ISA 9.7.9.25). With lazy timing a copy is performed
 * within the wait for it; until then its destination is poisoned.
 */
public final class AsyncCopies {

  /**
   * The copies of one instruction of one warp. A lane's copy belongs to the group that its thread
   * commits next.
   */
  private static final class Copies {
    long number;
    int mask;
    int bytes;
    final MemorySegment[] from = new MemorySegment[Warps.SIZE];
    final long[] source = new long[Warps.SIZE];
    final long[] target = new long[Warps.SIZE];
    final int[] valid = new int[Warps.SIZE];
    final int[] group = new int[Warps.SIZE];
  }

  private final Block block;
  private final PendingOperations operations;
  private final List<List<Copies>> pending = new ArrayList<>();
  private final ArrayList<Copies> spare = new ArrayList<>();

  /** By thread, the number of committed groups. */
  private final int[] committed;

  /** The number of copy instructions issued. */
  private long issued;

  AsyncCopies(Block block, PendingOperations operations) {
    this.block = block;
    this.operations = operations;
    this.committed = new int[block.scratch.length];
    for (int warp = 0; warp < block.registers.warps(); warp++) {
      pending.add(new ArrayList<>());
    }
  }

  /** Discards the copies of the previous block. */
  void clear() {
    pending.forEach(tickets -> {
      spare.addAll(tickets);
      tickets.clear();
    });
    Arrays.fill(committed, 0);
  }

  /** Returns the number of copy instructions issued, which numbers them. */
  long issued() {
    return issued;
  }

  /**
   * Completes the copies of the threads' groups, except for the newest {@code but} groups of each.
   */
  void finish(int warp, int mask, int but) {
    finish(
        warp,
        mask,
        (copies, lane) -> copies.group[lane] < committed[Warps.thread(warp, lane)] - but);
  }

  /** Completes the copies of threads up to a number. */
  void finishIssued(int warp, int mask, long number) {
    finish(warp, mask, (copies, _) -> copies.number <= number);
  }

  /** Selects copies to complete. */
  @FunctionalInterface
  private interface Choice {
    boolean has(Copies copies, int lane);
  }

  private void finish(int warp, int mask, Choice choice) {
    var all = pending.get(warp);
    if (all.isEmpty()) {
      return;
    }
    for (var copies : operations.isReordered() ? all.reversed() : all) {
      for (int left = copies.mask & mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        if (choice.has(copies, lane)) {
          perform(copies, lane);
          copies.mask &= ~(1 << lane);
        }
      }
    }
    all.removeIf(copies -> {
      if (copies.mask == 0) {
        spare.add(copies);
      }
      return copies.mask == 0;
    });
  }

  private void commit(int warp, int mask) {
    for (int left = mask; left != 0; left &= left - 1) {
      committed[Warps.firstThread(warp, left)]++;
    }
  }

  /** Completes all copies of threads. */
  void finishAll(int warp, int mask) {
    if (!pending.get(warp).isEmpty()) {
      commit(warp, mask);
      finish(warp, mask, 0);
    }
  }

  private void perform(Copies ticket, int lane) {
    int valid = ticket.valid[lane];
    long target = ticket.target[lane];
    if (valid == 16) {
      var from = ticket.from[lane];
      long source = ticket.source[lane];
      block.shared.set(LaneAccess.LONG, target, from.get(LaneAccess.LONG, source));
      block.shared.set(LaneAccess.LONG, target + 8, from.get(LaneAccess.LONG, source + 8));
    } else {
      MemorySegment.copy(ticket.from[lane], ticket.source[lane], block.shared, target, valid);
      block.shared.asSlice(target + valid, ticket.bytes - valid).fill((byte) 0);
    }
  }

  /** {@code cp.async}. */
  public final class Copy implements Step {
    private final Instruction instruction;
    private final Addresses targets;
    private final Addresses sources;
    private final int bytes;
    private final int @Nullable [] valid;
    private final int @Nullable [] ignored;
    private final MemoryRequest reads;
    private final MemoryRequest writes;
    private final int[] lengths = new int[Warps.SIZE];

    /**
     * @param bytes number of bytes written to shared memory
     * @param valid number of bytes read from global memory, the rest being zero; null = all
     * @param ignored predicate that suppresses the read; null = never
     */
    public Copy(
        Instruction instruction,
        Addresses targets,
        Addresses sources,
        int bytes,
        int @Nullable [] valid,
        int @Nullable [] ignored) {
      this.ignored = ignored;
      this.instruction = instruction;
      this.targets = targets;
      this.sources = sources;
      this.bytes = bytes;
      this.valid = valid;
      this.reads = new MemoryRequest(instruction, MemoryRequest.Kind.LOAD);
      this.reads.lengths = lengths;
      this.writes = new MemoryRequest(instruction, MemoryRequest.Kind.STORE);
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] != 0) {
          issue(warp, block.active[warp]);
        }
      }
    }

    private void issue(int warp, int mask) {
      targets.resolve(warp, mask, bytes, writes);
      reads.warp = warp;
      reads.mask = 0;
      reads.bytes = bytes;
      boolean late = !operations.isDoneAtOnce();
      var ticket = spare.isEmpty() ? new Copies() : spare.removeLast();
      ticket.number = ++issued;
      ticket.mask = mask;
      ticket.bytes = bytes;
      for (int left = mask; left != 0; left &= left - 1) {
        int in = Integer.numberOfTrailingZeros(left);
        int lane = Warps.thread(warp, in);
        boolean nothing = ignored != null && ((ignored[warp] >>> in) & 1) != 0;
        int size = nothing ? 0 : valid == null ? bytes : valid[lane];
        if (Integer.compareUnsigned(size, bytes) > 0) {
          throw block.fault(
              Kind.COPY_SIZE,
              lane,
              instruction,
              "%s bytes are to be read, but only %d copied"
                  .formatted(Integer.toUnsignedString(size), bytes));
        }
        long source = 0;
        if (size > 0) {
          source = sources.offset(lane, size, bytes);
          if (source < 0) {
            throw sources.fault(lane, size, bytes);
          }
          reads.mask |= 1 << in;
          reads.offsets[in] = source;
          reads.memories[in] = sources.memory();
          lengths[in] = size;
        }
        ticket.source[in] = source;
        ticket.from[in] = sources.segment();
        ticket.valid[in] = size;
        ticket.target[in] = writes.offsets[in];
        ticket.group[in] = committed[lane];
      }
      block.observe(reads);
      block.observe(writes);
      for (int left = mask; left != 0; left &= left - 1) {
        int in = Integer.numberOfTrailingZeros(left);
        if (late) {
          for (int at = 0; at < bytes; at += 4) {
            block.shared.set(LaneAccess.INT, ticket.target[in] + at, Registers.POISON);
          }
        } else {
          perform(ticket, in);
        }
      }
      if (late) {
        pending.get(warp).add(ticket);
      } else {
        spare.add(ticket);
      }
    }
  }

  /** {@code cp.async.commit_group}. */
  public final class Commit implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        commit(warp, block.active[warp]);
      }
    }
  }

  /** {@code cp.async.wait_group}; with {@link #ALL} {@code cp.async.wait_all}. */
  public final class Wait implements Step {
    public static final int ALL = -1;

    private final int but;

    public Wait(int but) {
      this.but = but;
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (but == ALL) {
          finishAll(warp, block.active[warp]);
        } else {
          finish(warp, block.active[warp], but);
        }
      }
    }
  }
}
