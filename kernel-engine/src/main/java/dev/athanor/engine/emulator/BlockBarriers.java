package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.Threads.Fragment;
import dev.athanor.engine.emulator.Threads.Wait;
import dev.athanor.engine.emulator.Threads.Warp;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import org.jspecify.annotations.Nullable;

/** Has the warps of a block come to its {@link Barriers}, and lets them go on. */
final class BlockBarriers {

  private final Block block;
  private final Op[] code;
  private final Warp[] warps;
  private final @Nullable Observer observer;
  private final Barriers barriers = new Barriers();

  BlockBarriers(Block block, Op[] code, Warp[] warps, @Nullable Observer observer) {
    this.block = block;
    this.code = code;
    this.warps = warps;
    this.observer = observer;
  }

  void clear() {
    barriers.clear();
  }

  /** Opens all barriers to which everybody has come that lives. */
  void open() {
    for (int number = 0; number < Barriers.COUNT; number++) {
      open(number);
    }
  }

  /** Whether a warp waits at a barrier for threads that have ended. */
  boolean isAbandoned(Warp warp) {
    return barriers.expected(warp.barrier) > living();
  }

  /** Where a warp waits, in words. */
  String waiting(Warp warp) {
    return "waits for ever at barrier %d, to which %d of %s came"
        .formatted(
            warp.barrier,
            32 * barriers.arrived(warp.barrier),
            threads(barriers.expected(warp.barrier)));
  }

  private int living() {
    int living = 0;
    for (int live : block.live) {
      living += live != 0 ? 1 : 0;
    }
    return living;
  }

  /** Opens a barrier if the warps that come to it are the whole block; answers whether they are. */
  boolean opensAtOnce(Op op, int first, int end) {
    if (op.barrier().threads() != null || op.barrier().kind() != BarrierKind.SYNC) {
      return false;
    }
    for (int warp = 0; warp < warps.length; warp++) {
      if ((warp < first || warp >= end) && block.live[warp] != 0) {
        return false;
      }
      if (warp >= first && warp < end && number(op, warp) != number(op, first)) {
        return false;
      }
    }
    if (barriers.arrived(number(op, first)) != 0) {
      return false;
    }
    block.progress();
    if (observer != null) {
      int number = number(op, first);
      for (int warp = first; warp < end; warp++) {
        observer.arrive(number, warp);
      }
      observer.open(number, bits(first, end));
    }
    return true;
  }

  /** A bit for each of some warps. */
  private static int bits(int first, int end) {
    return (int) (DefinedBytes.ones(end) & ~DefinedBytes.ones(first));
  }

  private int number(Op op, int warp) {
    int lane = 32 * warp + Integer.numberOfTrailingZeros(block.active[warp]);
    int number = op.barrier().number().ints()[lane];
    if (number < 0 || number >= Barriers.COUNT) {
      throw block.fault(
          Kind.BARRIER_OPERAND,
          lane,
          op.instruction,
          "there is no barrier %d, only 0 to 15".formatted(number));
    }
    return number;
  }

  /** A warp comes to a barrier. */
  void come(Op op, Fragment fragment, int warp, int chosen) {
    int number = number(op, warp);
    var barrier = op.barrier();
    int lane = 32 * warp + Integer.numberOfTrailingZeros(chosen);
    int count = count(op, warp);
    if (barriers.arrived(number) > 0) {
      if (barriers.expected(number) != count) {
        throw block.fault(
            Kind.BARRIER_COUNTS,
            lane,
            op.instruction,
            "waits for %s, but others at barrier %d wait for %s"
                .formatted(threads(count), number, threads(barriers.expected(number))));
      }
      if (barriers.reduces(number) != barrier.kind().reduces()) {
        throw block.fault(
            Kind.BARRIER_MIXED,
            lane,
            op.instruction,
            "%s a predicate, but others at barrier %d %s"
                .formatted(
                    barrier.kind().reduces() ? "combines" : "does not combine",
                    number,
                    barriers.reduces(number) ? "do" : "do not"));
      }
    }
    int holding = 0;
    if (barrier.predicate() != null) {
      holding = Integer.bitCount(barrier.predicate().ints()[warp] & chosen);
    }
    if (barriers.has(number, warp)) {
      block.complain(
          Kind.BARRIER_OVERRUN,
          lane,
          op.instruction,
          "comes to barrier %d again before it has opened".formatted(number),
          "wait at another barrier until the others have come to this one");
    }
    barriers.arrive(number, warp, count, barrier.kind(), holding, Integer.bitCount(chosen));
    if (observer != null) {
      observer.arrive(number, warp);
    }
    if (barrier.kind() == BarrierKind.ARRIVE) {
      fragment.pc++;
    } else {
      warps[warp].barrier = number;
      fragment.wait = Wait.BARRIER;
    }
    open(number);
  }

  private static String threads(int warps) {
    return warps == 0 ? "all threads" : 32 * warps + " threads";
  }

  /** How many warps a barrier waits for; 0 = all. */
  private int count(Op op, int warp) {
    var threads = op.barrier().threads();
    if (threads == null) {
      return 0;
    }
    int lane = 32 * warp + Integer.numberOfTrailingZeros(block.active[warp]);
    int count = threads.ints()[lane];
    if (count <= 0 || count % 32 != 0) {
      throw block.fault(
          Kind.BARRIER_OPERAND,
          lane,
          op.instruction,
          "a barrier waits for a multiple of 32 threads, not for " + count);
    }
    return count / 32;
  }

  /** Lets those go on that wait at a barrier, if everybody has come. */
  private void open(int number) {
    if (!barriers.opens(number, living())) {
      return;
    }
    block.progress();
    int waiting = 0;
    for (var warp : warps) {
      var fragment = warp.isWhole() ? warp.fragments.getFirst() : null;
      if (fragment != null && fragment.wait == Wait.BARRIER && warp.barrier == number) {
        learn(code[fragment.pc].barrier(), warp.index, fragment.mask, number);
        waiting |= 1 << warp.index;
        fragment.wait = Wait.NONE;
        fragment.pc++;
      }
    }
    if (observer != null) {
      observer.open(number, waiting);
    }
  }

  /** Hands out what the threads at a barrier combined. */
  private void learn(Op.Barrier barrier, int warp, int mask, int number) {
    if (barrier.result() == null) {
      return;
    }
    int result = barriers.result(number, barrier.kind());
    for (int left = mask; left != 0; left &= left - 1) {
      barrier.result().set(32 * warp + Integer.numberOfTrailingZeros(left), result);
    }
  }
}
