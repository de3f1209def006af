package dev.athanor.engine.emulator.run;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.jit.CompiledCode;
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.ptx.Warps;
import org.jspecify.annotations.Nullable;

/** Threads that execute together: adjacent whole warps, or one fragment of a warp. */
final class Gang {

  /** Which active threads of a gang satisfy the guard of an instruction. */
  enum Guarded {
    NONE,
    SOME,
    ALL
  }

  /** The index of the first warp. */
  final int first;

  /** The index after that of the last warp. */
  final int end;

  private final Block block;
  private final Warp[] warps;

  /** The fragment that runs alone; null = the gang consists of whole warps. */
  private final @Nullable Fragment single;

  private Gang(Block block, Warp[] warps, int first, int end, @Nullable Fragment single) {
    this.block = block;
    this.warps = warps;
    this.first = first;
    this.end = end;
    this.single = single;
  }

  /** Activates the threads of whole warps. */
  static Gang ofWarps(Block block, Warp[] warps, int first, int end) {
    for (int i = first; i < end; i++) {
      block.active[i] = warps[i].fragments.getFirst().mask;
    }
    return new Gang(block, warps, first, end, null);
  }

  /** Activates the threads of a fragment. */
  static Gang ofFragment(Block block, Warp[] warps, int warp, Fragment fragment) {
    block.active[warp] = fragment.mask;
    return new Gang(block, warps, warp, warp + 1, fragment);
  }

  boolean isWhole() {
    return single == null;
  }

  /** Returns the number of warps. */
  int size() {
    return end - first;
  }

  Fragment fragment(int warp) {
    return single == null ? warps[warp].fragments.getFirst() : single;
  }

  /** Moves all threads to an instruction. */
  void move(int pc) {
    for (int warp = first; warp < end; warp++) {
      fragment(warp).pc = pc;
    }
  }

  /** Moves all threads to an instruction and ends their turn. */
  void yieldAt(int pc) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(warp);
      fragment.pc = pc;
      fragment.spent = true;
    }
  }

  /** Evaluates the guard of an instruction for the active threads. */
  Guarded guarded(BoundInstruction op) {
    if (op.guard == null) {
      return Guarded.ALL;
    }
    boolean some = false;
    boolean others = false;
    for (int warp = first; warp < end; warp++) {
      int chosen = op.chosen(warp, block.active[warp]);
      some |= chosen != 0;
      others |= chosen != block.active[warp];
    }
    return some ? others ? Guarded.SOME : Guarded.ALL : Guarded.NONE;
  }

  /** Executes an instruction for the active threads that satisfy its guard. */
  void execute(BoundInstruction op) {
    switch (guarded(op)) {
      case NONE -> {}
      case ALL -> op.step.execute(first, end, isWhole());
      case SOME -> {
        for (int warp = first; warp < end; warp++) {
          execute(op, warp);
        }
      }
    }
  }

  /** Executes an instruction for the active threads of a warp that satisfy its guard. */
  void execute(BoundInstruction op, int warp) {
    int all = block.active[warp];
    int chosen = op.chosen(warp, all);
    if (chosen != 0) {
      block.active[warp] = chosen;
      op.step.execute(warp, warp + 1, isWhole() && chosen == all);
      block.active[warp] = all;
    }
  }

  /** Executes a branch that not all threads take. */
  void branch(BoundInstruction op, int pc) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(warp);
      int chosen = op.chosen(warp, fragment.mask);
      if (chosen == fragment.mask) {
        fragment.pc = op.target;
      } else {
        if (chosen != 0 && op.instruction.modifiers().has("uni")) {
          throw block.fault(
              Kind.DIVERGENT_UNIFORM,
              Warps.firstThread(warp, chosen),
              op.instruction,
              "threads of one warp take different branches");
        }
        fragment.pc = pc + 1;
        if (chosen != 0) {
          warps[warp].split(fragment, chosen, op.target);
        }
      }
    }
  }

  /** Moves each thread to the instruction at which it left a compiled segment. */
  void diverge(CompiledCode compiled, int segment) {
    for (int warp = first; warp < end; warp++) {
      var fragment = fragment(warp);
      for (int rest = fragment.mask; rest != 0; ) {
        int pc = compiled.exits[Warps.firstThread(warp, rest)];
        int together = 0;
        for (int mask = rest; mask != 0; mask &= mask - 1) {
          if (compiled.exits[Warps.firstThread(warp, mask)] == pc) {
            together |= Integer.lowestOneBit(mask);
          }
        }
        rest &= ~together;
        boolean spent = compiled.turnEnded && pc <= segment;
        if (rest == 0) {
          fragment.pc = pc;
          fragment.spent = spent;
        } else {
          warps[warp].split(fragment, together, pc);
          warps[warp].fragments.getLast().spent = spent;
        }
      }
    }
  }
}
