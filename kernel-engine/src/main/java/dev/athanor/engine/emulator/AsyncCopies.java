package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous copies of a block (PTX ISA 9.7.9.25). With late timing a copy happens within the
 * wait that asks for it; until then its destination holds values that show when they are used.
 */
final class AsyncCopies {

  /** One instruction of one warp. A lane is in the group that its thread commits next. */
  private static final class Ticket {
    int mask;
    int bytes;
    final MemorySegment[] from = new MemorySegment[32];
    final long[] source = new long[32];
    final long[] target = new long[32];
    final int[] valid = new int[32];
    final int[] group = new int[32];
  }

  private final Block block;
  private final boolean late;
  private final List<List<Ticket>> pending = new ArrayList<>();
  private final ArrayList<Ticket> spare = new ArrayList<>();

  /** For each thread how many groups it has committed. */
  private final int[] committed;

  AsyncCopies(Block block, AsyncTiming timing) {
    this.block = block;
    this.late = timing == AsyncTiming.LAZY;
    this.committed = new int[block.scratch.length];
    for (int warp = 0; warp < block.registers.warps(); warp++) {
      pending.add(new ArrayList<>());
    }
  }

  /** Forgets what is left of another block. */
  void clear() {
    pending.forEach(tickets -> {
      spare.addAll(tickets);
      tickets.clear();
    });
    Arrays.fill(committed, 0);
  }

  /** Finishes the copies of the threads' groups, all but the newest {@code but} of each. */
  void finish(int warp, int mask, int but) {
    var tickets = pending.get(warp);
    if (tickets.isEmpty()) {
      return;
    }
    for (var ticket : tickets) {
      for (int left = ticket.mask & mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        if (ticket.group[lane] < committed[32 * warp + lane] - but) {
          perform(ticket, lane);
          ticket.mask &= ~(1 << lane);
        }
      }
    }
    tickets.removeIf(ticket -> {
      if (ticket.mask == 0) {
        spare.add(ticket);
      }
      return ticket.mask == 0;
    });
  }

  private void commit(int warp, int mask) {
    for (int left = mask; left != 0; left &= left - 1) {
      committed[32 * warp + Integer.numberOfTrailingZeros(left)]++;
    }
  }

  /** Finishes all copies of threads. */
  void finishAll(int warp, int mask) {
    if (!pending.get(warp).isEmpty()) {
      commit(warp, mask);
      finish(warp, mask, 0);
    }
  }

  private void perform(Ticket ticket, int lane) {
    int valid = ticket.valid[lane];
    long target = ticket.target[lane];
    if (valid == 16) {
      var from = ticket.from[lane];
      long source = ticket.source[lane];
      block.shared.set(Cells.LONG, target, from.get(Cells.LONG, source));
      block.shared.set(Cells.LONG, target + 8, from.get(Cells.LONG, source + 8));
    } else {
      MemorySegment.copy(ticket.from[lane], ticket.source[lane], block.shared, target, valid);
      block.shared.asSlice(target + valid, ticket.bytes - valid).fill((byte) 0);
    }
  }

  /** {@code cp.async}. */
  final class Copy implements Step {
    private final Instruction instruction;
    private final Addresses targets;
    private final Addresses sources;
    private final int bytes;
    private final int @Nullable [] valid;
    private final Touch reads;
    private final Touch writes;
    private final int[] lengths = new int[32];

    /**
     * @param bytes how many are written to shared memory
     * @param valid how many are read from global memory, the rest being zero; null = all
     */
    Copy(
        Instruction instruction,
        Addresses targets,
        Addresses sources,
        int bytes,
        int @Nullable [] valid) {
      this.instruction = instruction;
      this.targets = targets;
      this.sources = sources;
      this.bytes = bytes;
      this.valid = valid;
      this.reads = new Touch(instruction, Touch.Kind.LOAD);
      this.reads.lengths = lengths;
      this.writes = new Touch(instruction, Touch.Kind.STORE);
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
      var ticket = spare.isEmpty() ? new Ticket() : spare.removeLast();
      ticket.mask = mask;
      ticket.bytes = bytes;
      for (int left = mask; left != 0; left &= left - 1) {
        int in = Integer.numberOfTrailingZeros(left);
        int lane = 32 * warp + in;
        int size = valid == null ? bytes : valid[lane];
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
            block.shared.set(Cells.INT, ticket.target[in] + at, Registers.POISON);
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
  final class Commit implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        commit(warp, block.active[warp]);
      }
    }
  }

  /** {@code cp.async.wait_group}; with {@link #ALL} {@code cp.async.wait_all}. */
  final class Wait implements Step {
    static final int ALL = -1;

    private final int but;

    Wait(int but) {
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
