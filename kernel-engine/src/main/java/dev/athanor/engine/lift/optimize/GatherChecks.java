package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Moves checks up to the check before them, so that one branch does for all of them, and so that
 * none separates loads that a vector load can do. A check stays behind stores, since these happen
 * even if it fails, and behind the loads that it depends on.
 */
final class GatherChecks implements Pass {

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    for (var block : graph.blocks()) {
      changed |=
          block.body().stream().filter(value -> value.is(Op.CHECK)).count() > 1 && gather(block);
    }
    return changed;
  }

  private static boolean gather(Block block) {
    var order = new Order();
    block.body().forEach(order::add);
    order.endGroup();
    boolean changed = !order.done.equals(block.body());
    block.body().clear();
    block.body().addAll(order.done);
    return changed;
  }

  /** The new order of a block. */
  private static final class Order {
    private final List<Value> done = new ArrayList<>();

    /** Where the last group of checks begins in {@link #done}, which it ends. */
    private int group;

    /** What follows the group, unless a check needs it. */
    private final List<Value> after = new ArrayList<>();

    void add(Value value) {
      switch (value.effect()) {
        case NONE, READ, READ_ONLY -> after.add(value);
        case CHECK -> {
          var needed = needed(value);
          if (!needed.stream().allMatch(each -> each.effect() == Effect.NONE)) {
            endGroup();
          } else {
            after.removeAll(needed);
            done.addAll(group, needed);
            group += needed.size();
          }
          done.add(value);
        }
        case CONVERGENT, WRITE, DEBUG -> {
          after.add(value);
          endGroup();
        }
      }
    }

    void endGroup() {
      done.addAll(after);
      after.clear();
      group = done.size();
    }

    /** Returns the values after the group that a check depends on, in order. */
    private List<Value> needed(Value check) {
      Set<Value> needed = new HashSet<>(check.inputs());
      for (var value : after.reversed()) {
        if (needed.contains(value)) {
          needed.addAll(value.inputs());
        }
      }
      return after.stream().filter(needed::contains).toList();
    }
  }
}
