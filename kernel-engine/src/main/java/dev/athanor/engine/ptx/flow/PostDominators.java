package dev.athanor.engine.ptx.flow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;

/**
 * The immediate post-dominator of each statement: the next statement on all paths to the end. The
 * end is a virtual exit node, numbered {@link ControlFlow#size()}.
 *
 * <p>Algorithm: Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001, on the reversed
 * graph.
 */
public final class PostDominators {

  private final ControlFlow flow;
  private final int exit;
  private final int[] immediate;

  /** The position of each node in the postorder of the reversed graph. */
  private final int[] order;

  private PostDominators(ControlFlow flow) {
    this.flow = flow;
    this.exit = flow.size();
    this.immediate = new int[exit + 1];
    this.order = new int[exit + 1];
    Arrays.fill(immediate, -1);
    immediate[exit] = exit;
  }

  public static PostDominators of(ControlFlow flow) {
    var dominators = new PostDominators(flow);
    dominators.solve(dominators.reversePostorder());
    return dominators;
  }

  /** Returns the immediate post-dominator of a statement; -1 where no path leads to the end. */
  public int immediate(int statement) {
    return immediate[statement];
  }

  private void solve(List<Integer> reversePostorder) {
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int at : reversePostorder) {
        if (at != exit) {
          int common = -1;
          for (int successor : flow.successors(at)) {
            common = intersect(common, successor);
          }
          if (flow.mayExit(at)) {
            common = intersect(common, exit);
          }
          changed |= common != immediate[at];
          immediate[at] = common;
        }
      }
    }
  }

  /** Returns the nearest common post-dominator of two nodes; -1 = not yet known. */
  private int intersect(int a, int b) {
    if (immediate[b] < 0) {
      return a;
    }
    int left = a < 0 ? b : a;
    int right = b;
    while (left != right) {
      while (order[left] < order[right]) {
        left = immediate[left];
      }
      while (order[right] < order[left]) {
        right = immediate[right];
      }
    }
    return left;
  }

  /** Numbers the nodes from which the end can be reached. */
  private List<Integer> reversePostorder() {
    var exits = new ArrayList<Integer>();
    for (int at = 0; at < exit; at++) {
      if (flow.mayExit(at)) {
        exits.add(at);
      }
    }
    record Visit(int node, Iterator<Integer> predecessors) {}
    var visited = new BitSet();
    var postorder = new ArrayList<Integer>();
    var stack = new ArrayDeque<Visit>();
    stack.push(new Visit(exit, exits.iterator()));
    visited.set(exit);
    while (!stack.isEmpty()) {
      var top = stack.getFirst();
      if (!top.predecessors.hasNext()) {
        order[top.node] = postorder.size();
        postorder.add(top.node);
        stack.pop();
        continue;
      }
      int predecessor = top.predecessors.next();
      if (!visited.get(predecessor)) {
        visited.set(predecessor);
        stack.push(new Visit(predecessor, flow.predecessors(predecessor).iterator()));
      }
    }
    return postorder.reversed();
  }
}
