package dev.athanor.engine.lift;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator.Branch;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.lift.simplify.Simplifier;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds barriers that some threads of a block can never reach: those behind a branch whose
 * condition depends on the thread's index alone and is not the same in the whole block. The kernel
 * must declare its blocks. Conditions that depend on arguments are left to the run.
 */
final class DivergentBarriers {
  private static final int LANES = 32;

  private final Graph graph;

  private DivergentBarriers(Graph graph) {
    this.graph = graph;
  }

  /**
   * Checks an optimized kernel.
   *
   * @throws LiftException if only some threads of a block can reach a barrier
   */
  static void check(Graph graph) {
    if (!graph.blockShape().isEmpty()
        && graph.instructions().anyMatch(DivergentBarriers::isBarrier)) {
      graph.blocks().forEach(new DivergentBarriers(graph)::check);
    }
  }

  private static boolean isBarrier(Value value) {
    return value.is(Op.CALL) && value.attribute(Intrinsic.class).name().equals("barrier");
  }

  private void check(Block block) {
    if (block.end() instanceof Branch(var condition, var yes, var no)
        && (isOnlyWayToABarrier(yes) || isOnlyWayToABarrier(no))
        && differs(condition)) {
      throw new LiftException(Refusal.DIVERGENT_BARRIER, condition.source(), graph.name());
    }
  }

  /** Returns whether there is a barrier that no path reaches without an edge. */
  private boolean isOnlyWayToABarrier(Edge edge) {
    Set<Block> reached = new HashSet<>(List.of(graph.entry()));
    var pending = new ArrayDeque<>(reached);
    while (!pending.isEmpty()) {
      for (var next : pending.remove().edges()) {
        if (next != edge && reached.add(next.target())) {
          pending.add(next.target());
        }
      }
    }
    return graph.blocks().stream()
        .filter(block -> !reached.contains(block))
        .anyMatch(block -> block.body().stream().anyMatch(DivergentBarriers::isBarrier));
  }

  /** Returns whether a condition surely holds for some threads of the block and not for others. */
  private boolean differs(Value condition) {
    var shape = graph.blockShape();
    Set<Boolean> outcomes = new HashSet<>();
    for (int z = 0; z < shape.get(2); z++) {
      for (int y = 0; y < shape.get(1); y++) {
        for (int x = 0; x < shape.get(0); x++) {
          int number = (z * shape.get(1) + y) * shape.get(0) + x;
          var registers =
              Map.of(
                  SpecialRegister.TID_X, x,
                  SpecialRegister.TID_Y, y,
                  SpecialRegister.TID_Z, z,
                  SpecialRegister.LANEID, number % LANES);
          var outcome = evaluate(condition, registers, new HashMap<>());
          if (outcome == null) {
            return false;
          }
          outcomes.add(outcome.isConstant(true));
        }
      }
    }
    return outcomes.size() > 1;
  }

  /**
   * Returns the literal that a value is in a thread; null if it depends on more than the thread.
   */
  private static @Nullable Value evaluate(
      Value value, Map<SpecialRegister, Integer> registers, Map<Value, Value> known) {
    if (value.is(Op.CONSTANT) || known.containsKey(value)) {
      return known.getOrDefault(value, value);
    }
    if (value.is(Op.SPECIAL)) {
      var number = registers.get(value.attribute(SpecialRegister.class));
      return number == null ? null : Value.constant(number.intValue());
    }
    List<Value> inputs = new ArrayList<>();
    for (var input : value.inputs()) {
      var literal = evaluate(input, registers, known);
      if (literal == null) {
        return null;
      }
      inputs.add(literal);
    }
    var simple = inputs.isEmpty() ? null : Simplifier.simplify(value.with(inputs));
    if (simple == null || !simple.is(Op.CONSTANT)) {
      return null;
    }
    known.put(value, simple);
    return simple;
  }
}
