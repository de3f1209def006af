package dev.athanor.vulkan.flow;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.flow.ControlFlow;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The basic blocks of a kernel and its natural loops. Block 0 is the entry. */
public final class ControlGraph {

  /** The successor of a block that ends the thread. */
  public static final int EXIT = -1;

  /**
   * A basic block.
   *
   * @param condition decides between the two successors; null = there is one
   */
  public record Block(
      List<Instruction> code, @Nullable Guard condition, List<Integer> successors) {}

  private final List<Block> blocks = new ArrayList<>();
  private final List<Integer> order;
  private final int[] position;
  private final List<List<Integer>> predecessors = new ArrayList<>();
  private final int[] dominators;
  private final Map<Integer, BitSet> loops = new TreeMap<>();

  public ControlGraph(Kernel kernel) {
    split(kernel);
    order = order();
    position = new int[blocks.size()];
    for (int i = 0; i < order.size(); i++) {
      position[order.get(i)] = i;
    }
    blocks.forEach(_ -> predecessors.add(new ArrayList<>()));
    for (int block : order) {
      for (int next : blocks.get(block).successors) {
        if (next != EXIT) {
          predecessors.get(next).add(block);
        }
      }
    }
    dominators = dominators();
    findLoops();
  }

  /** Returns a block. */
  public Block block(int number) {
    return blocks.get(number);
  }

  public int size() {
    return blocks.size();
  }

  /** Returns the reachable blocks in reverse postorder. */
  public List<Integer> reachable() {
    return order;
  }

  public List<Integer> predecessors(int block) {
    return predecessors.get(block);
  }

  public boolean isLoop(int header) {
    return loops.containsKey(header);
  }

  /** Returns the blocks of the loop with a header. */
  public BitSet loop(int header) {
    return loops.getOrDefault(header, new BitSet());
  }

  /**
   * Returns the header of the innermost loop around a block; {@link #EXIT} if there is none. A
   * header is in its own loop.
   */
  public int loopOf(int block) {
    return smallest(block, 0);
  }

  /** Returns the header of the loop around the loop with a header; {@link #EXIT} for none. */
  public int parent(int header) {
    return smallest(header, loop(header).cardinality());
  }

  /** Returns whether a path without jumps backward leads from a block to another. */
  public boolean reaches(int from, int to) {
    var seen = new BitSet();
    var work = new ArrayDeque<>(List.of(from));
    while (!work.isEmpty()) {
      int block = work.pop();
      if (block == to) {
        return true;
      }
      if (!seen.get(block)) {
        seen.set(block);
        blocks.get(block).successors.stream()
            .filter(next -> next != EXIT && position[next] > position[block])
            .forEach(work::push);
      }
    }
    return false;
  }

  private int smallest(int block, int above) {
    int best = EXIT;
    for (var loop : loops.entrySet()) {
      int size = loop.getValue().cardinality();
      if (loop.getValue().get(block)
          && size > above
          && (best == EXIT || size < loop(best).cardinality())) {
        best = loop.getKey();
      }
    }
    return best;
  }

  private void split(Kernel kernel) {
    var labels = new HashMap<String, Integer>();
    var branches = new HashMap<Integer, String>();
    var code = new ArrayList<Instruction>();
    for (var statement : kernel.body()) {
      if (statement instanceof Label label) {
        if (!code.isEmpty() || blocks.isEmpty()) {
          close(code, null, List.of(blocks.size() + 1));
        }
        labels.put(label.name(), blocks.size());
      } else if (statement instanceof Instruction instruction) {
        boolean jumps = instruction.form().semantics() instanceof Semantics.Branch;
        if (!jumps && !(instruction.form().semantics() instanceof Semantics.Exit)) {
          code.add(instruction);
          continue;
        }
        if (jumps) {
          branches.put(blocks.size(), ControlFlow.target(instruction));
        }
        var guard = instruction.guard();
        close(code, guard, guard == null ? List.of(EXIT) : List.of(EXIT, blocks.size() + 1));
      }
    }
    close(code, null, List.of(EXIT));
    branches.forEach((block, label) -> {
      var target = labels.get(label);
      if (target == null) {
        throw new UnsupportedKernelException(
            "it branches to the label %s, which it lacks".formatted(label));
      }
      var given = blocks.get(block);
      if (given.successors.contains(target)) {
        blocks.set(block, new Block(given.code, null, List.of(target)));
      } else {
        given.successors.set(0, target);
      }
    });
  }

  private void close(List<Instruction> code, @Nullable Guard condition, List<Integer> successors) {
    blocks.add(new Block(List.copyOf(code), condition, new ArrayList<>(successors)));
    code.clear();
  }

  private List<Integer> order() {
    var seen = new BitSet();
    var postorder = new ArrayList<Integer>();
    var stack = new ArrayDeque<int[]>(); // a block, and the number of visited successors
    stack.push(new int[] {0, 0});
    seen.set(0);
    while (!stack.isEmpty()) {
      var top = stack.getFirst();
      var successors = blocks.get(top[0]).successors;
      if (top[1] == successors.size()) {
        postorder.add(top[0]);
        stack.pop();
        continue;
      }
      int next = successors.get(successors.size() - 1 - top[1]++);
      if (next != EXIT && !seen.get(next)) {
        seen.set(next);
        stack.push(new int[] {next, 0});
      }
    }
    return postorder.reversed();
  }

  private int[] dominators() {
    var found = new int[blocks.size()];
    Arrays.fill(found, -1);
    found[0] = 0;
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int block : order.subList(1, order.size())) {
        int common = -1;
        for (int predecessor : predecessors.get(block)) {
          if (found[predecessor] >= 0) {
            common = common < 0 ? predecessor : meet(found, common, predecessor);
          }
        }
        changed |= found[block] != common;
        found[block] = common;
      }
    }
    return found;
  }

  private int meet(int[] found, int a, int b) {
    int left = a;
    int right = b;
    while (left != right) {
      if (position[left] > position[right]) {
        left = found[left];
      } else {
        right = found[right];
      }
    }
    return left;
  }

  private void findLoops() {
    for (int block : order) {
      for (int next : blocks.get(block).successors) {
        if (next == EXIT || position[next] > position[block]) {
          continue;
        }
        int dominator = block;
        while (dominator != next && dominator != 0) {
          dominator = dominators[dominator];
        }
        if (dominator != next) {
          throw new UnsupportedKernelException("it has a loop with several entries");
        }
        var body = loops.computeIfAbsent(next, _ -> new BitSet());
        body.set(next);
        var work = new ArrayDeque<>(List.of(block));
        while (!work.isEmpty()) {
          int member = work.pop();
          if (!body.get(member)) {
            body.set(member);
            work.addAll(predecessors.get(member));
          }
        }
      }
    }
  }
}
