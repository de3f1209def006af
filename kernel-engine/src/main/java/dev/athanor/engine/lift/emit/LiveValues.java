package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The values that are needed from the start of each block on. */
final class LiveValues {
  private final Map<Block, Set<Value>> atStart = new HashMap<>();

  LiveValues(Graph graph) {
    var order = graph.blocks().reversed();
    boolean changed = true;
    while (changed) {
      changed = false;
      for (var block : order) {
        var live = live(block);
        changed |= live.size() != atStart(block).size();
        atStart.put(block, live);
      }
    }
  }

  /** Returns the values that are needed from the start of a block on, without its parameters. */
  Set<Value> atStart(Block block) {
    return atStart.getOrDefault(block, Set.of());
  }

  private Set<Value> live(Block block) {
    Set<Value> live = new HashSet<>();
    for (var edge : block.edges()) {
      live.addAll(atStart(edge.target()));
      live.addAll(edge.arguments());
    }
    if (block.end() instanceof Terminator.Branch branch) {
      live.add(branch.condition());
    }
    for (var value : block.body().reversed()) {
      live.remove(value);
      live.addAll(value.inputs());
    }
    block.parameters().forEach(live::remove);
    return live;
  }
}
