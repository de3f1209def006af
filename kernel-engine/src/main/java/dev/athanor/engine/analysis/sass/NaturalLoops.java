package dev.athanor.engine.analysis.sass;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The natural loops of code: for each block that is the target of a branch from a block that it
 * dominates, the blocks from which that branch is reached without passing the target. Loops without
 * such a header, which ptxas does not write, are not found. Sources: Aho, Lam, Sethi, Ullman,
 * Compilers, section 9.6; Cooper, Harvey, Kennedy, A Simple, Fast Dominance Algorithm (2001).
 */
final class NaturalLoops {

  private static final int NONE = -1;

  private final FlowGraph graph;
  private final List<List<Integer>> predecessors = new ArrayList<>();
  private final List<Integer> order;
  private final int[] position;
  private final int[] dominator;

  /** The virtual block before all entries. */
  private final int root;

  private NaturalLoops(FlowGraph graph) {
    this.graph = graph;
    root = graph.blocks().size();
    position = new int[root + 1];
    dominator = new int[root + 1];
    Arrays.fill(position, NONE);
    Arrays.fill(dominator, NONE);
    for (int block = 0; block <= root; block++) {
      predecessors.add(new ArrayList<>());
    }
    order = reversePostorder();
    for (int block : order) {
      successors(block).forEach(next -> predecessors.get(next).add(block));
    }
    findDominators();
  }

  /**
   * Returns the blocks of each loop that has no other loop in it, in the order of their headers.
   * Loops that only wait for an mbarrier or for registers are left out.
   */
  static List<BitSet> innermost(FlowGraph graph) {
    var loops = new NaturalLoops(graph).byHeader();
    loops.values().removeIf(loop -> isWait(graph, loop));
    return loops.entrySet().stream()
        .filter(loop ->
            loops.keySet().stream()
                .noneMatch(other -> !other.equals(loop.getKey()) && loop.getValue().get(other)))
        .map(Map.Entry::getValue)
        .toList();
  }

  private static boolean isWait(FlowGraph graph, BitSet loop) {
    return loop.cardinality() == 1
        && graph.blocks().get(loop.nextSetBit(0)).instructions().stream()
            .mapToInt(SassInstruction::operation)
            .anyMatch(each -> each == Opcode.SYNCS || each == Opcode.USETMAXREG);
  }

  private List<Integer> successors(int block) {
    return block == root ? graph.entries() : graph.blocks().get(block).successors();
  }

  private List<Integer> reversePostorder() {
    record Visit(int block, Iterator<Integer> successors) {}

    var postorder = new ArrayList<Integer>();
    var seen = new BitSet();
    var path = new ArrayDeque<Visit>();
    seen.set(root);
    path.push(new Visit(root, successors(root).iterator()));
    while (!path.isEmpty()) {
      var visit = path.element();
      if (visit.successors().hasNext()) {
        int next = visit.successors().next();
        if (!seen.get(next)) {
          seen.set(next);
          path.push(new Visit(next, successors(next).iterator()));
        }
      } else {
        postorder.add(path.pop().block());
      }
    }
    var reversed = postorder.reversed();
    for (int i = 0; i < reversed.size(); i++) {
      position[reversed.get(i)] = i;
    }
    return reversed;
  }

  private void findDominators() {
    dominator[root] = root;
    boolean changed = true;
    while (changed) {
      changed = false;
      for (int block : order.subList(1, order.size())) {
        int found = NONE;
        for (int before : predecessors.get(block)) {
          if (dominator[before] != NONE) {
            found = found == NONE ? before : common(found, before);
          }
        }
        changed |= dominator[block] != found;
        dominator[block] = found;
      }
    }
  }

  private int common(int a, int b) {
    while (a != b) {
      if (position[a] > position[b]) {
        a = dominator[a];
      } else {
        b = dominator[b];
      }
    }
    return a;
  }

  private boolean dominates(int a, int b) {
    int up = b;
    while (position[up] > position[a]) {
      up = dominator[up];
    }
    return up == a;
  }

  private Map<Integer, BitSet> byHeader() {
    var loops = new TreeMap<Integer, BitSet>();
    for (int block : order) {
      for (int header : successors(block)) {
        if (block != root && dominates(header, block)) {
          var body = loops.computeIfAbsent(header, _ -> new BitSet());
          body.set(header);
          addBody(body, block);
        }
      }
    }
    return loops;
  }

  /** Adds the blocks from which a block is reached without passing those that are there already. */
  private void addBody(BitSet body, int last) {
    var pending = new ArrayDeque<>(List.of(last));
    while (!pending.isEmpty()) {
      int block = pending.pop();
      if (!body.get(block)) {
        body.set(block);
        pending.addAll(predecessors.get(block));
      }
    }
  }
}
