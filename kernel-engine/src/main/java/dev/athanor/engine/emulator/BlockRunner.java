package dev.athanor.engine.emulator;

import dev.athanor.engine.emulator.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.Threads.Fragment;
import dev.athanor.engine.emulator.Threads.Wait;
import dev.athanor.engine.emulator.Threads.Warp;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Executes the blocks of a launch one after the other.
 *
 * <p>Whole warps that stand side by side at one instruction execute it together, as a gang. Of
 * gangs and fragments the one that is farthest behind goes first, until it comes to where another
 * is; so the branches of a conditional meet again. One that goes round a loop for long lets the
 * others go on, for which it may be waiting.
 */
final class BlockRunner {

  /** Jumps backward after which others come first. */
  private static final int PATIENCE = 4096;

  private static final int BARRIERS = 16;
  private static final int NOWHERE = Integer.MAX_VALUE;

  private final Block block;
  private final Op[] code;
  private final Warp[] warps;
  private final int[] arrived = new int[BARRIERS];

  /** How many warps a barrier waits for; 0 = all that live. */
  private final int[] expected = new int[BARRIERS];

  private final LongPredicate cancelled;
  private final Program program;
  private final boolean compilesAtOnce;
  private final boolean compilesLater;

  /** Where compiled code begins, if there is any. */
  private BitSet starts = new BitSet();

  private @Nullable CompiledCode compiled;

  /** Instructions interpreted in the current block, each for a warp. */
  private long work;

  /**
   * @param cancelled whether a block need no longer be run to its end
   */
  BlockRunner(LaunchedKernel launch, LongPredicate cancelled) {
    this.block = new Block(launch, launch.program().registers(launch.block()));
    this.code = launch.program().bind(block);
    this.warps = new Warp[block.live.length];
    for (int i = 0; i < warps.length; i++) {
      warps[i] = new Warp(i);
    }
    this.cancelled = cancelled;
    this.program = launch.program();
    // compiled code touches shared memory by words
    boolean compilable = launch.sharedBytes() % Integer.BYTES == 0;
    var execution = launch.options().execution();
    this.compilesAtOnce = compilable && execution == Execution.COMPILED;
    this.compilesLater = compilable && execution == Execution.TIERED;
  }

  /**
   * Runs a block to its end.
   *
   * @throws Fault when a thread did something undefined
   */
  void run(long number) {
    if (compiled == null && (compilesAtOnce || (compilesLater && program.isHot()))) {
      var code = program.compiled(block);
      compiled = code.bind(block);
      starts = code.starts();
    }
    if (compiled == null) {
      runOnce(number);
      program.worked(work);
      work = 0;
      return;
    }
    try {
      runOnce(number);
    } catch (Fault | Departure | ArrayIndexOutOfBoundsException e) {
      // threads that run one after the other find another fault first than threads side by side
      var code = compiled;
      var places = starts;
      compiled = null;
      starts = new BitSet();
      runOnce(number);
      compiled = code;
      starts = places;
      throw e;
    }
  }

  private void runOnce(long number) {
    block.begin(number);
    for (var warp : warps) {
      warp.fragments.clear();
      warp.fragments.add(new Fragment(0, block.live[warp.index]));
    }
    for (int i = 0; i < BARRIERS; i++) {
      arrived[i] = 0;
    }
    while (!cancelled.test(number)) {
      var next = next();
      if (next != null) {
        run(next);
      } else if (!renew()) {
        if (isAnyLeft()) {
          throw deadlock();
        }
        return;
      }
    }
  }

  /** The warp whose runnable fragment is farthest behind. */
  private @Nullable Warp next() {
    Warp best = null;
    int lowest = NOWHERE;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        if (fragment.wait == Wait.NONE && !fragment.spent && fragment.pc < lowest) {
          best = warp;
          lowest = fragment.pc;
        }
      }
    }
    return best;
  }

  /** Lets those go on that have gone round loops; answers whether there are any. */
  private boolean renew() {
    boolean any = false;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        any |= fragment.spent && fragment.wait == Wait.NONE;
        fragment.spent = false;
      }
    }
    return any;
  }

  private boolean isAnyLeft() {
    for (var warp : warps) {
      if (!warp.fragments.isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private void run(Warp warp) {
    var fragment = behind(warp);
    int first = warp.index;
    int end = first + 1;
    boolean whole = warp.isWhole();
    if (whole) {
      while (end < warps.length && warps[end].isRunnableAt(fragment.pc)) {
        end++;
      }
      for (int i = first; i < end; i++) {
        block.active[i] = warps[i].fragments.getFirst().mask;
      }
    } else {
      block.active[first] = fragment.mask;
    }
    advance(fragment, first, end, whole);
    for (int i = first; i < end; i++) {
      warps[i].merge();
    }
  }

  private static Fragment behind(Warp warp) {
    Fragment best = warp.fragments.getFirst();
    for (var fragment : warp.fragments) {
      if (fragment.wait == Wait.NONE
          && !fragment.spent
          && (best.wait != Wait.NONE || best.spent || fragment.pc < best.pc)) {
        best = fragment;
      }
    }
    return best;
  }

  /** The next place after this one where others are. */
  private int meeting(int pc) {
    int nearest = NOWHERE;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        if (fragment.pc > pc && fragment.pc < nearest && fragment.wait != Wait.BARRIER) {
          nearest = fragment.pc;
        }
      }
    }
    return nearest;
  }

  /** Executes a gang of whole warps, or one fragment, until something parts or stops it. */
  private void advance(Fragment fragment, int first, int end, boolean whole) {
    int pc = fragment.pc;
    int limit = meeting(pc);
    int backward = 0;
    while (pc < limit) {
      if (compiled != null && starts.get(pc)) {
        int to = compiled.run(pc, first, end);
        if (to == CompiledCode.SEVERAL) {
          part(compiled.exits, fragment, first, end, whole);
          return;
        }
        if (to <= pc && ++backward >= PATIENCE) {
          move(to, fragment, first, end, whole);
          spend(fragment, first, end, whole);
          return;
        }
        pc = to;
        continue;
      }
      work += end - first;
      var op = code[pc];
      switch (op.kind) {
        case STRAIGHT -> {
          execute(op, first, end, whole);
          pc++;
        }
        case BRANCH -> {
          int chosen = chosen(op, first, end);
          if (chosen == MIXED) {
            branch(op, pc, fragment, first, end, whole);
            return;
          }
          if (chosen == NOBODY) {
            pc++;
          } else if (op.target > pc || ++backward < PATIENCE) {
            pc = op.target;
          } else {
            move(op.target, fragment, first, end, whole);
            spend(fragment, first, end, whole);
            return;
          }
        }
        case EXIT -> {
          if (chosen(op, first, end) != NOBODY) {
            exit(op, pc, fragment, first, end, whole);
            return;
          }
          pc++;
        }
        case COLLECTIVE -> {
          if (!whole || chosen(op, first, end) != EVERYBODY) {
            for (int warp = first; warp < end; warp++) {
              collect(op, pc, warps[warp], fragment(fragment, warp, whole), whole);
            }
            return;
          }
          check(op, first, end);
          op.step.execute(first, end, true);
          pc++;
        }
        case BARRIER -> {
          if (!passes(op, first, end, whole)) {
            move(pc, fragment, first, end, whole);
            arrive(op, fragment, first, end, whole);
            return;
          }
          pc++;
        }
      }
    }
    move(pc, fragment, first, end, whole);
  }

  private static final int NOBODY = 0;
  private static final int EVERYBODY = 1;
  private static final int MIXED = 2;

  /** For which of the active threads the guard of an instruction holds. */
  private int chosen(Op op, int first, int end) {
    if (op.guard == null) {
      return EVERYBODY;
    }
    boolean some = false;
    boolean others = false;
    for (int warp = first; warp < end; warp++) {
      int chosen = op.chosen(warp, block.active[warp]);
      some |= chosen != 0;
      others |= chosen != block.active[warp];
    }
    return some ? others ? MIXED : EVERYBODY : NOBODY;
  }

  private void execute(Op op, int first, int end, boolean whole) {
    switch (chosen(op, first, end)) {
      case EVERYBODY -> op.step.execute(first, end, whole);
      case MIXED -> {
        for (int warp = first; warp < end; warp++) {
          int all = block.active[warp];
          int chosen = op.chosen(warp, all);
          if (chosen != 0) {
            block.active[warp] = chosen;
            op.step.execute(warp, warp + 1, whole && chosen == all);
            block.active[warp] = all;
          }
        }
      }
      default -> {} // nobody does
    }
  }

  private void move(int pc, Fragment fragment, int first, int end, boolean whole) {
    if (!whole) {
      fragment.pc = pc;
      return;
    }
    for (int warp = first; warp < end; warp++) {
      warps[warp].fragments.getFirst().pc = pc;
    }
  }

  private void spend(Fragment fragment, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      (whole ? warps[warp].fragments.getFirst() : fragment).spent = true;
    }
  }

  private Fragment fragment(Fragment single, int warp, boolean whole) {
    return whole ? warps[warp].fragments.getFirst() : single;
  }

  private void branch(Op op, int pc, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      int chosen = op.chosen(warp, fragment.mask);
      if (chosen == fragment.mask) {
        fragment.pc = op.target;
      } else {
        if (chosen != 0 && op.instruction.modifiers().has("uni")) {
          throw block.fault(
              32 * warp + Integer.numberOfTrailingZeros(chosen),
              op.instruction,
              "threads of one warp go different ways");
        }
        fragment.pc = pc + 1;
        if (chosen != 0) {
          warps[warp].split(fragment, chosen, op.target);
        }
      }
    }
  }

  /** Lets each thread go on where compiled code left it. */
  private void part(int[] exits, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      for (int left = fragment.mask; left != 0; ) {
        int pc = exits[32 * warp + Integer.numberOfTrailingZeros(left)];
        int together = 0;
        for (int mask = left; mask != 0; mask &= mask - 1) {
          if (exits[32 * warp + Integer.numberOfTrailingZeros(mask)] == pc) {
            together |= Integer.lowestOneBit(mask);
          }
        }
        left &= ~together;
        if (left == 0) {
          fragment.pc = pc;
        } else {
          warps[warp].split(fragment, together, pc);
        }
      }
    }
  }

  private void exit(Op op, int pc, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      int chosen = op.chosen(warp, fragment.mask);
      block.live[warp] &= ~chosen;
      block.copies.finishAll(warp, chosen);
      fragment.mask &= ~chosen;
      fragment.pc = pc + 1;
      if (chosen != 0) {
        warps[warp].exited(fragment);
      }
    }
    for (int barrier = 0; barrier < BARRIERS; barrier++) {
      release(barrier);
    }
  }

  /** Complains when a thread executes what is meant for others. */
  private void check(Op op, int first, int end) {
    var step = (Step.Collective) op.step;
    for (int warp = first; warp < end; warp++) {
      step.needed(warp, block.active[warp]);
    }
  }

  /** Lets a fragment execute an instruction of the warp, or wait for the rest of the warp. */
  private void collect(Op op, int pc, Warp warp, Fragment fragment, boolean whole) {
    var step = (Step.Collective) op.step;
    int all = fragment.mask;
    int chosen = op.chosen(warp.index, all);
    fragment.pc = pc + 1;
    if (chosen == 0) {
      return;
    }
    if ((step.needed(warp.index, chosen) & ~chosen) == 0) {
      block.active[warp.index] = chosen;
      step.execute(warp.index, warp.index + 1, whole && chosen == all);
      return;
    }
    fragment.pc = pc;
    fragment.wait = Wait.WARP;
    if (chosen != all) {
      warp.split(fragment, all & ~chosen, pc + 1);
    }
  }

  /** Whether the gang is the whole block, and nobody has to wait for anybody. */
  private boolean passes(Op op, int first, int end, boolean whole) {
    int chosen = chosen(op, first, end);
    if (chosen != EVERYBODY) {
      return chosen == NOBODY;
    }
    if (!whole || op.barrier().threads() != null) {
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
    return arrived[number(op, first)] == 0;
  }

  private int number(Op op, int warp) {
    int lane = 32 * warp + Integer.numberOfTrailingZeros(block.active[warp]);
    int number = op.barrier().number().ints()[lane];
    if (number < 0 || number >= BARRIERS) {
      throw block.fault(
          lane, op.instruction, "there is no barrier %d, only 0 to 15".formatted(number));
    }
    return number;
  }

  private void arrive(Op op, Fragment single, int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(single, warp, whole);
      int chosen = op.chosen(warp, fragment.mask);
      if (chosen == 0) {
        fragment.pc++;
        continue;
      }
      if (chosen != fragment.mask) {
        warps[warp].split(fragment, fragment.mask & ~chosen, fragment.pc + 1);
      }
      if (chosen != block.live[warp]) {
        fragment.wait = Wait.WARP;
        continue;
      }
      int number = number(op, warp);
      int count = count(op, warp);
      if (arrived[number] > 0 && expected[number] != count) {
        throw block.fault(
            32 * warp + Integer.numberOfTrailingZeros(chosen),
            op.instruction,
            "waits for %s, but others at barrier %d wait for %s"
                .formatted(threads(count), number, threads(expected[number])));
      }
      expected[number] = count;
      arrived[number]++;
      warps[warp].barrier = number;
      fragment.wait = Wait.BARRIER;
      release(number);
    }
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
          lane, op.instruction, "a barrier waits for a multiple of 32 threads, not for " + count);
    }
    return count / 32;
  }

  /** Opens a barrier if everybody has come. */
  private void release(int number) {
    if (arrived[number] == 0) {
      return;
    }
    int wanted = expected[number];
    if (wanted == 0) {
      for (int live : block.live) {
        wanted += live != 0 ? 1 : 0;
      }
    }
    if (arrived[number] < wanted) {
      return;
    }
    arrived[number] = 0;
    for (var warp : warps) {
      var fragment = warp.isWhole() ? warp.fragments.getFirst() : null;
      if (fragment != null && fragment.wait == Wait.BARRIER && warp.barrier == number) {
        fragment.wait = Wait.NONE;
        fragment.pc++;
      }
    }
  }

  /** Nobody can go on: says who waits where. */
  private Fault deadlock() {
    List<String> reports = new ArrayList<>();
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        int lane = 32 * warp.index + Integer.numberOfTrailingZeros(fragment.mask);
        var what =
            fragment.wait == Wait.BARRIER
                ? "waits for ever at barrier %d, to which %d of %s came"
                    .formatted(
                        warp.barrier, 32 * arrived[warp.barrier], threads(expected[warp.barrier]))
                : "waits for ever for other threads of its warp; lanes 0x%08x of 0x%08x came"
                    .formatted(fragment.mask, block.live[warp.index]);
        reports.add(block.report(lane, code[fragment.pc].instruction, what));
      }
    }
    return new Fault(reports);
  }
}
