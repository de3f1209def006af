package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Removes instructions and block parameters whose results nothing needs. */
public final class RemoveDeadCode implements Pass {

  @Override
  public boolean run(Graph graph) {
    var predecessors = graph.predecessors();
    var live = live(graph, predecessors);
    boolean changed = false;
    for (var each : predecessors.entrySet()) {
      var block = each.getKey();
      changed |=
          block.body().removeIf(value -> value.effect().isRemovable() && !live.contains(value));
      for (int i = block.parameters().size() - 1; i >= 0; i--) {
        if (!live.contains(block.parameters().get(i))) {
          int at = i;
          block.parameters().remove(i);
          each.getValue().forEach(edge -> edge.arguments().remove(at));
          changed = true;
        }
      }
    }
    return changed;
  }

  private static Set<Value> live(Graph graph, Map<Block, List<Edge>> predecessors) {
    Set<Value> live = new HashSet<>();
    Deque<Value> pending = new ArrayDeque<>();
    var owners = new HashMap<Value, Block>();
    for (var block : graph.blocks()) {
      block.parameters().forEach(parameter -> owners.put(parameter, block));
      block.body().stream().filter(v -> !v.effect().isRemovable()).forEach(pending::add);
      if (block.end() instanceof Terminator.Branch branch) {
        pending.add(branch.condition());
      }
    }
    while (!pending.isEmpty()) {
      var value = pending.remove();
      if (live.add(value)) {
        pending.addAll(value.inputs());
        var owner = value.is(Op.PHI) ? owners.get(value) : null;
        if (owner != null) {
          int index = owner.parameters().indexOf(value);
          for (var edge : predecessors.getOrDefault(owner, List.of())) {
            pending.add(edge.arguments().get(index));
          }
        }
      }
    }
    return live;
  }
}
