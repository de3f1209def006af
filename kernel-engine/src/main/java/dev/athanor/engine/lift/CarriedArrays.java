package dev.athanor.engine.lift;

import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.optimize.RemoveDeadCode;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds arrays that a loop creates and a later iteration uses. All iterations have the same memory
 * for the arrays that they create.
 */
final class CarriedArrays {
  private final Graph graph;

  private CarriedArrays(Graph graph) {
    this.graph = graph;
  }

  /**
   * Checks a kernel, and removes its dead code.
   *
   * @throws LiftException if an array lives on in a later iteration
   */
  static void check(Graph graph) {
    if (graph.arrays().stream().anyMatch(array -> array.space() == Space.LOCAL)) {
      new RemoveDeadCode().run(graph);
      graph.blocks().forEach(new CarriedArrays(graph)::check);
    }
  }

  private void check(Block block) {
    for (var value : block.body()) {
      if (value.is(Op.ARRAY)
          && value.attribute(ArrayVariable.class).space() == Space.LOCAL
          && holders(value).stream().anyMatch(holder -> dominates(holder, block))) {
        throw new LiftException(Refusal.PRIVATE_LIFETIME, value.source(), graph.name());
      }
    }
  }

  /** Returns the blocks with parameters that may be an address in an array. */
  private Set<Block> holders(Value array) {
    Set<Value> addresses = new HashSet<>(List.of(array));
    Set<Block> holders = new HashSet<>();
    for (int known = 0; known < addresses.size(); ) {
      known = addresses.size();
      for (var block : graph.blocks()) {
        for (var value : block.body()) {
          boolean isAddress = value.is(Op.ADDRESS) || value.is(Op.SELECT);
          if (isAddress && value.inputs().stream().anyMatch(addresses::contains)) {
            addresses.add(value);
          }
        }
        for (var edge : block.edges()) {
          for (int i = 0; i < edge.arguments().size(); i++) {
            if (addresses.contains(edge.arguments().get(i))) {
              addresses.add(edge.target().parameters().get(i));
              holders.add(edge.target());
            }
          }
        }
      }
    }
    return holders;
  }

  /** Returns whether every path to a block passes another. */
  private boolean dominates(Block above, Block block) {
    Set<Block> reached = new HashSet<>(List.of(above, graph.entry()));
    var pending = new ArrayDeque<>(List.of(graph.entry()));
    while (!pending.isEmpty() && above != graph.entry()) {
      for (var next : pending.remove().successors()) {
        if (reached.add(next)) {
          pending.add(next);
        }
      }
    }
    return above == block || !reached.contains(block);
  }
}
