package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Joins blocks in a line, skips empty blocks, and decides branches on literals. */
public final class MergeBlocks implements Pass {

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    boolean again = true;
    while (again) {
      again = decideBranches(graph);
      again |= skipEmpty(graph);
      again |= join(graph);
      changed |= again;
    }
    return changed;
  }

  private static boolean decideBranches(Graph graph) {
    boolean changed = false;
    for (var block : graph.blocks()) {
      if (block.end() instanceof Terminator.Branch(var condition, var yes, var no)) {
        boolean same = yes.target() == no.target() && yes.arguments().equals(no.arguments());
        if (condition.is(Op.CONSTANT) || same) {
          block.setEnd(new Terminator.Jump(condition.isConstant(true) || same ? yes : no));
          changed = true;
        }
      }
    }
    return changed;
  }

  /** Redirects edges around blocks that only jump. */
  private static boolean skipEmpty(Graph graph) {
    boolean changed = false;
    var predecessors = graph.predecessors();
    for (var each : predecessors.entrySet()) {
      var block = each.getKey();
      if (block != graph.entry()
          && block.body().isEmpty()
          && block.end() instanceof Terminator.Jump(var to)
          && to.target() != block
          && isPrivate(block, to, graph)) {
        for (var edge : each.getValue()) {
          redirect(edge, block, to);
          changed = true;
        }
        if (changed) {
          return true; // the predecessors are stale
        }
      }
    }
    return changed;
  }

  /** Returns whether only the jump uses the parameters of a block. */
  private static boolean isPrivate(Block block, Edge to, Graph graph) {
    if (block.parameters().isEmpty()) {
      return true;
    }
    for (var other : graph.blocks()) {
      boolean uses =
          other.body().stream()
                  .anyMatch(v -> v.inputs().stream().anyMatch(block.parameters()::contains))
              || other.edges().stream()
                  .anyMatch(edge ->
                      edge != to
                          && edge.arguments().stream().anyMatch(block.parameters()::contains))
              || (other.end() instanceof Terminator.Branch branch
                  && block.parameters().contains(branch.condition()));
      if (uses) {
        return false;
      }
    }
    return true;
  }

  private static void redirect(Edge edge, Block around, Edge to) {
    var values = new HashMap<Value, Value>();
    for (int i = 0; i < around.parameters().size(); i++) {
      values.put(around.parameters().get(i), edge.arguments().get(i));
    }
    edge.setTarget(to.target());
    edge.setArguments(
        List.copyOf(to.arguments().stream().map(v -> values.getOrDefault(v, v)).toList()));
  }

  /** Appends blocks to their only predecessor that only jumps to them. */
  private static boolean join(Graph graph) {
    boolean changed = false;
    var predecessors = new HashMap<>(graph.predecessors());
    for (var block : graph.blocks()) {
      while (block.end() instanceof Terminator.Jump(var to)
          && to.target() != block
          && to.target() != graph.entry()
          && predecessors.getOrDefault(to.target(), List.of()).size() == 1) {
        var next = to.target();
        Map<Value, Value> values = new HashMap<>();
        for (int i = 0; i < next.parameters().size(); i++) {
          values.put(next.parameters().get(i), to.arguments().get(i));
        }
        block.body().addAll(next.body());
        block.setEnd(next.end());
        next.body().clear();
        next.setEnd(new Terminator.Return());
        graph.replace(values);
        changed = true;
      }
    }
    return changed;
  }
}
