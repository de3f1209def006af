package dev.athanor.engine.lift.analysis;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The dominator tree of a graph, by the iterative algorithm of Cooper, Harvey and Kennedy ("A
 * Simple, Fast Dominance Algorithm", 2001).
 */
public final class Dominators {
  private final List<Block> order;
  private final Map<Block, Integer> numbers = new HashMap<>();
  private final Map<Block, List<Edge>> predecessors;
  private final Map<Edge, Block> sources = new HashMap<>();
  private final int[] parents;

  public Dominators(Graph graph) {
    order = graph.blocks();
    predecessors = graph.predecessors();
    for (var block : order) {
      numbers.put(block, numbers.size());
      block.edges().forEach(edge -> sources.put(edge, block));
    }
    parents = new int[order.size()];
    Arrays.fill(parents, -1);
    parents[0] = 0;
    boolean changed = true;
    while (changed) {
      changed = false;
      for (int i = 1; i < order.size(); i++) {
        int parent = commonDominator(i);
        changed |= parents[i] != parent;
        parents[i] = parent;
      }
    }
  }

  private int commonDominator(int block) {
    int common = -1;
    for (var edge : predecessorsOf(order.get(block))) {
      int source = number(sourceOf(edge));
      if (parents[source] >= 0) {
        common = common < 0 ? source : meet(common, source);
      }
    }
    return common;
  }

  private int meet(int a, int b) {
    int x = a;
    int y = b;
    while (x != y) {
      if (x > y) {
        x = parents[x];
      } else {
        y = parents[y];
      }
    }
    return x;
  }

  private int number(Block block) {
    return numbers.getOrDefault(block, -1);
  }

  /** Returns the reachable blocks in reverse postorder. */
  public List<Block> order() {
    return order;
  }

  public List<Edge> predecessorsOf(Block block) {
    return predecessors.getOrDefault(block, List.of());
  }

  /** Returns the block that an edge leaves. */
  public Block sourceOf(Edge edge) {
    var source = sources.get(edge);
    if (source == null) {
      throw new IllegalStateException("the edge is of another graph");
    }
    return source;
  }

  /** Returns the closest block that every path to this one passes; null for the entry. */
  public @Nullable Block parent(Block block) {
    int number = number(block);
    return number <= 0 ? null : order.get(parents[number]);
  }

  /** Returns whether every path to a block passes another; each block dominates itself. */
  public boolean dominates(Block above, Block block) {
    int wanted = number(above);
    int at = number(block);
    while (at > wanted) {
      at = parents[at];
    }
    return at == wanted;
  }

  /** Returns the blocks whose parent is this one. */
  public List<Block> children(Block block) {
    var found = new ArrayList<Block>();
    int number = number(block);
    for (int i = 1; i < parents.length; i++) {
      if (parents[i] == number) {
        found.add(order.get(i));
      }
    }
    return found;
  }
}
