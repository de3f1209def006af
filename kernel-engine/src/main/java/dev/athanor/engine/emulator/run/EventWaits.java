package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.step.Step;
import java.util.function.Consumer;

/** The fragments of a block that wait for events, such as the completion of a copy. */
final class EventWaits {

  private final Block block;
  private final BoundInstruction[] code;
  private final Warp[] warps;

  EventWaits(Block block, BoundInstruction[] code, Warp[] warps) {
    this.block = block;
    this.code = code;
    this.warps = warps;
  }

  /**
   * Executes a waiting instruction, or makes fragments wait whose event has not happened.
   *
   * @return whether any fragment waits
   */
  boolean await(BoundInstruction op, int pc, Gang gang) {
    var step = (Step.Event) op.step;
    boolean ready = true;
    for (int warp = gang.first; warp < gang.end; warp++) {
      ready &= isReady(step, gang.fragment(warp), warp, op.chosen(warp, block.active[warp]));
    }
    if (ready) {
      for (int warp = gang.first; warp < gang.end; warp++) {
        gang.fragment(warp).expired = false;
      }
      gang.execute(op);
      return false;
    }
    for (int warp = gang.first; warp < gang.end; warp++) {
      var fragment = gang.fragment(warp);
      int chosen = op.chosen(warp, fragment.mask);
      if (isReady(step, fragment, warp, chosen)) {
        fragment.expired = false;
        gang.execute(op, warp);
        fragment.pc = pc + 1;
      } else {
        fragment.pc = pc;
        fragment.wait = Wait.EVENT;
        if (chosen != fragment.mask) {
          warps[warp].split(fragment, fragment.mask & ~chosen, pc + 1);
        }
      }
    }
    return true;
  }

  private static boolean isReady(Step.Event step, Fragment fragment, int warp, int mask) {
    return mask == 0 || fragment.expired || step.isReady(warp, mask);
  }

  /** Releases fragments whose event has happened; returns whether there were any. */
  boolean wakeReady() {
    return matching(Step.Event::isReady, fragment -> fragment.wait = Wait.NONE);
  }

  /**
   * Releases fragments whose event has happened, completing pending operations if necessary;
   * returns whether any fragment was released.
   */
  boolean wake() {
    while (!wakeReady()) {
      if (!matching(Step.Event::finishOne, _ -> {})) {
        return false;
      }
    }
    return true;
  }

  /** Releases fragments whose wait is limited in time; returns whether there were any. */
  boolean expire() {
    return matching(
        (step, _, _) -> step.expires(),
        fragment -> {
          fragment.wait = Wait.NONE;
          fragment.expired = true;
        });
  }

  /** A predicate over the lanes of a warp that wait for an event. */
  @FunctionalInterface
  private interface Condition {
    boolean holds(Step.Event step, int warp, int mask);
  }

  /**
   * Applies an action to the waiting fragments that satisfy a condition; returns whether there were
   * any.
   */
  private boolean matching(Condition condition, Consumer<Fragment> action) {
    boolean some = false;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        if (fragment.wait == Wait.EVENT) {
          var op = code[fragment.pc];
          int chosen = op.chosen(warp.index, fragment.mask);
          if (condition.holds((Step.Event) op.step, warp.index, chosen)) {
            action.accept(fragment);
            some = true;
          }
        }
      }
    }
    return some;
  }
}
