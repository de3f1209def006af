package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.Warps;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Moves the warps of a block through its {@link NamedBarriers}. */
public final class BlockBarriers {

  private final Block block;
  private final BoundInstruction[] code;
  private final Warp[] warps;
  private final @Nullable Observer observer;
  private final NamedBarriers barriers = new NamedBarriers();

  public BlockBarriers(
      Block block, BoundInstruction[] code, Warp[] warps, @Nullable Observer observer) {
    this.block = block;
    this.code = code;
    this.warps = warps;
    this.observer = observer;
  }

  public void clear() {
    barriers.clear();
  }

  /** Opens every barrier at which all expected warps have arrived. */
  public void open() {
    for (int number = 0; number < NamedBarriers.COUNT; number++) {
      open(number);
    }
  }

  /** Returns whether a warp waits at a barrier for threads that have exited. */
  public boolean isAbandoned(Warp warp) {
    return barriers.expected(warp.barrier) > living();
  }

  /** Describes the barrier at which a warp waits. */
  public String waiting(Warp warp) {
    return "waits forever at barrier %d; %d of %s arrived"
        .formatted(
            warp.barrier,
            Warps.SIZE * barriers.arrived(warp.barrier),
            threads(barriers.expected(warp.barrier)));
  }

  private int living() {
    int living = 0;
    for (int live : block.live) {
      living += live != 0 ? 1 : 0;
    }
    return living;
  }

  /** Opens a barrier if the arriving warps are the whole block; returns whether they are. */
  public boolean opensAtOnce(BoundInstruction op, int first, int end) {
    if (op.barrier().threads() != null || op.barrier().kind() != BarrierKind.SYNC) {
      return false;
    }
    for (int warp = 0; warp < warps.length; warp++) {
      if ((warp < first || warp >= end) && block.live[warp] != 0) {
        return false;
      }
      if (warp >= first && warp < end && number(op, lane(warp)) != number(op, lane(first))) {
        return false;
      }
    }
    int number = number(op, lane(first));
    if (barriers.arrived(number) != 0) {
      return false;
    }
    block.progress();
    checkExited(op, number, lane(first));
    if (observer != null) {
      for (int warp = first; warp < end; warp++) {
        observer.arrive(number, warp);
      }
      observer.open(number, bits(first, end));
    }
    return true;
  }

  /** Returns a mask with a bit for each warp from {@code first} to {@code end - 1}. */
  private static int bits(int first, int end) {
    return (int) (DefinedBytes.ones(end) & ~DefinedBytes.ones(first));
  }

  /** Returns the first active thread of a warp. */
  private int lane(int warp) {
    return lane(warp, block.active[warp]);
  }

  private static int lane(int warp, int mask) {
    return Warps.firstThread(warp, mask);
  }

  private int number(BoundInstruction op, int lane) {
    int number = op.barrier().number().ints()[lane];
    if (number < 0 || number >= NamedBarriers.COUNT) {
      throw block.fault(
          Kind.BARRIER_OPERAND,
          lane,
          op.instruction,
          "there is no barrier %d, only 0 to 15".formatted(number));
    }
    return number;
  }

  /**
   * Lets a warp arrive at a barrier once all its live threads are there: at one instruction, or at
   * several that are not aligned (PTX ISA 9.7.13.1).
   */
  public void come(Warp warp) {
    var parts =
        warp.fragments.stream()
            .filter(part ->
                part.wait == Wait.WARP && code[part.pc].kind == BoundInstruction.Kind.BARRIER)
            .toList();
    int all = parts.stream().mapToInt(part -> part.mask).reduce(0, (a, b) -> a | b);
    int number = number(code[parts.getFirst().pc], lane(warp.index, parts.getFirst().mask));
    if (all != block.live[warp.index] || (parts.size() > 1 && !meet(parts, warp, number))) {
      return;
    }
    int count = 0;
    int holding = 0;
    boolean reduces = false;
    for (var part : parts) {
      var op = code[part.pc];
      var barrier = op.barrier();
      int lane = lane(warp.index, part.mask);
      int own = count(op, lane);
      boolean isFirst = part == parts.getFirst();
      if (!isFirst || barriers.arrived(number) > 0) {
        check(
            op,
            lane,
            number,
            own,
            isFirst ? barriers.expected(number) : count,
            isFirst ? barriers.reduces(number) : reduces);
      }
      count = own;
      reduces = barrier.kind().reduces();
      if (barrier.predicate() != null) {
        holding += Integer.bitCount(barrier.predicate().ints()[warp.index] & part.mask);
      }
    }
    if (barriers.has(number, warp.index)) {
      block.reportViolation(
          Kind.BARRIER_OVERRUN,
          lane(warp.index, all),
          code[parts.getFirst().pc].instruction,
          "arrives at barrier %d again before it has opened".formatted(number),
          "wait at another barrier until the others have arrived at this one");
    }
    barriers.arrive(number, warp.index, count, reduces, holding, Integer.bitCount(all));
    if (observer != null) {
      observer.arrive(number, warp.index);
    }
    warp.barrier = number;
    for (var part : parts) {
      if (code[part.pc].barrier().kind() == BarrierKind.ARRIVE) {
        part.wait = Wait.NONE;
        part.pc++;
      } else {
        part.wait = Wait.BARRIER;
      }
    }
    open(number);
  }

  /**
   * Returns whether the fragments of a warp that wait at several instructions wait at one barrier.
   */
  private boolean meet(List<Fragment> parts, Warp warp, int number) {
    return parts.stream()
        .allMatch(part ->
            !code[part.pc].instruction.isAligned()
                && number(code[part.pc], lane(warp.index, part.mask)) == number);
  }

  /** Reports a thread whose barrier instruction disagrees with those that arrived before. */
  private void check(
      BoundInstruction op, int lane, int number, int count, int othersCount, boolean othersReduce) {
    if (othersCount != count) {
      throw block.fault(
          Kind.BARRIER_COUNTS,
          lane,
          op.instruction,
          "waits for %s, but others at barrier %d wait for %s"
              .formatted(threads(count), number, threads(othersCount)));
    }
    boolean reduces = op.barrier().kind().reduces();
    if (othersReduce != reduces) {
      throw block.fault(
          Kind.BARRIER_MIXED,
          lane,
          op.instruction,
          "%s a predicate, but others at barrier %d %s"
              .formatted(
                  reduces ? "combines" : "does not combine",
                  number,
                  othersReduce ? "do" : "do not"));
    }
  }

  private static String threads(int warps) {
    return warps == 0 ? "all threads" : Warps.SIZE * warps + " threads";
  }

  /** Returns how many warps a barrier waits for; 0 = all. */
  private int count(BoundInstruction op, int lane) {
    var threads = op.barrier().threads();
    if (threads == null) {
      return 0;
    }
    int count = threads.ints()[lane];
    if (count <= 0 || count % Warps.SIZE != 0) {
      throw block.fault(
          Kind.BARRIER_OPERAND,
          lane,
          op.instruction,
          "a barrier waits for a multiple of 32 threads, not for " + count);
    }
    return count / Warps.SIZE;
  }

  /** Releases the warps at a barrier if all expected warps have arrived. */
  private void open(int number) {
    if (!barriers.opens(number, living())) {
      return;
    }
    block.progress();
    int waiting = 0;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        if (fragment.wait == Wait.BARRIER && warp.barrier == number) {
          if (waiting == 0) {
            checkExited(code[fragment.pc], number, lane(warp.index, fragment.mask));
          }
          distribute(code[fragment.pc].barrier(), warp.index, fragment.mask, number);
          waiting |= 1 << warp.index;
          fragment.wait = Wait.NONE;
          fragment.pc++;
        }
      }
    }
    if (observer != null) {
      observer.open(number, waiting);
    }
  }

  /**
   * Reports a barrier of all threads of a block that opens without those that have exited. PTX ISA
   * 9.7.13.1 waits only for threads that have not exited, so this is a defect of kernels in Java
   * alone, whose barriers wait for all threads.
   */
  private void checkExited(BoundInstruction op, int number, int lane) {
    if (observer == null || op.barrier().threads() != null || op.instruction.source().isInPtx()) {
      return;
    }
    int exited = block.exited();
    if (exited > 0) {
      block.reportViolation(
          Kind.BARRIER_ABANDONED,
          lane,
          op.instruction,
          "waits at barrier %d for all threads of the block, but %d of them have exited"
              .formatted(number, exited),
          "let all threads reach it: guard the code around the barrier instead of returning early");
    }
  }

  /** Distributes the result of the reduction at a barrier. */
  private void distribute(BoundInstruction.Barrier barrier, int warp, int mask, int number) {
    if (barrier.result() == null) {
      return;
    }
    int result = barriers.result(number, barrier.kind());
    for (int left = mask; left != 0; left &= left - 1) {
      barrier.result().set(Warps.firstThread(warp, left), result);
    }
  }
}
