package dev.athanor.engine.lift.analysis;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A natural loop.
 *
 * @param back edges from the loop to its header
 * @param entries edges from elsewhere to its header
 */
public record Loop(Block header, Set<Block> blocks, List<Edge> back, List<Edge> entries) {

  /** An edge that leaves the loop. */
  public record Exit(Block from, Edge edge) {}

  /** Returns the loops of a graph, inner ones before those around them. */
  public static List<Loop> of(Graph graph, Dominators dominators) {
    var found = new LinkedHashMap<Block, Loop>();
    for (var block : dominators.order()) {
      for (var edge : block.edges()) {
        if (dominators.dominates(edge.target(), block)) {
          found
              .computeIfAbsent(
                  edge.target(),
                  header -> new Loop(header, set(), new ArrayList<>(), new ArrayList<>()))
              .back
              .add(edge);
        }
      }
    }
    found.values().forEach(loop -> loop.complete(dominators));
    return found.values().stream()
        .sorted(Comparator.comparingInt(loop -> loop.blocks.size()))
        .toList();
  }

  private static Set<Block> set() {
    return new HashSet<>();
  }

  /** Collects the blocks that reach a back edge without passing the header. */
  private void complete(Dominators dominators) {
    blocks.add(header);
    var pending = new ArrayDeque<Block>();
    back.forEach(edge -> pending.add(dominators.sourceOf(edge)));
    while (!pending.isEmpty()) {
      var block = pending.remove();
      if (blocks.add(block)) {
        dominators.predecessorsOf(block).forEach(edge -> pending.add(dominators.sourceOf(edge)));
      }
    }
    dominators.predecessorsOf(header).stream()
        .filter(edge -> !back.contains(edge))
        .forEach(entries::add);
  }

  public List<Exit> exits() {
    var found = new ArrayList<Exit>();
    for (var block : blocks) {
      for (var edge : block.edges()) {
        if (!blocks.contains(edge.target())) {
          found.add(new Exit(block, edge));
        }
      }
    }
    return found;
  }

  /** Returns the values that the loop computes, parameters of its blocks included. */
  public Set<Value> values() {
    Set<Value> found = new HashSet<>();
    for (var block : blocks) {
      found.addAll(block.parameters());
      found.addAll(block.body());
    }
    return found;
  }

  public int size() {
    return blocks.stream().mapToInt(block -> block.body().size()).sum();
  }

  /** Returns the argument of each parameter of the header on the only entry. */
  public Map<Value, Value> initial() {
    var found = new HashMap<Value, Value>();
    for (int i = 0; i < header.parameters().size(); i++) {
      found.put(header.parameters().get(i), entries.getFirst().arguments().get(i));
    }
    return found;
  }
}
