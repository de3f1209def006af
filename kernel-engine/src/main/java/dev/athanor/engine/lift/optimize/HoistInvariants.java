package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.analysis.Loop;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.ArrayList;
import java.util.List;

/**
 * Moves values that do not change in a loop before it. Loads and checks move only from the header,
 * which runs whenever the loop is entered, and not over checks and writes, which Java makes first.
 * Conditions stay: a thread has only seven predicates.
 */
public final class HoistInvariants implements Pass {

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    while (hoistOne(graph)) {
      changed = true;
    }
    return changed;
  }

  /** Hoists from the first loop that has invariants; the other loops are stale then. */
  private static boolean hoistOne(Graph graph) {
    var dominators = new Dominators(graph);
    return Loop.of(graph, dominators).stream()
        .filter(loop -> loop.entries().size() == 1)
        .anyMatch(loop -> hoist(loop, dominators.order()));
  }

  private static boolean hoist(Loop loop, List<Block> order) {
    var inside = loop.values();
    var moved = new ArrayList<Value>();
    boolean headerIsPure = true;
    for (var block : order) {
      if (!loop.blocks().contains(block)) {
        continue;
      }
      for (var value : List.copyOf(block.body())) {
        boolean runs = block == loop.header() && headerIsPure;
        if (isMovable(value, runs) && value.inputs().stream().noneMatch(inside::contains)) {
          block.body().remove(value);
          inside.remove(value);
          moved.add(value);
        } else if (block == loop.header()
            && (value.effect() == Effect.WRITE || value.effect() == Effect.CHECK)) {
          headerIsPure = false;
        }
      }
    }
    if (!moved.isEmpty()) {
      place(moved, loop);
    }
    return !moved.isEmpty();
  }

  private static boolean isMovable(Value value, boolean runs) {
    return switch (value.effect()) {
      case NONE -> value.type() != ValueType.BOOL;
      case READ_ONLY, CHECK -> runs;
      case READ, CONVERGENT, WRITE, DEBUG -> false;
    };
  }

  /** Puts values into a block of their own before the loop. */
  private static void place(List<Value> moved, Loop loop) {
    var entry = loop.entries().getFirst();
    var before = new Block();
    before.body().addAll(moved);
    before.setEnd(new Terminator.Jump(new Edge(loop.header(), entry.arguments())));
    entry.setTarget(before);
    entry.setArguments(List.of());
  }
}
