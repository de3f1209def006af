package dev.athanor.engine.lift.ir;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** A kernel in SSA form: a graph of basic blocks. */
public final class Graph {

  /** A block on the current path of a depth-first search, and its edges not yet followed. */
  private record Visit(Block block, Iterator<Edge> edges) {
    static Visit of(Block block) {
      // the last successor first, so that the order has the first successor first
      return new Visit(block, block.edges().reversed().iterator());
    }
  }

  private final String name;
  private final List<Parameter> parameters;
  private final List<Integer> blockShape;
  private final Block entry;
  private final List<ArrayVariable> arrays = new ArrayList<>();
  private final List<String> methodsWithoutVariables = new ArrayList<>();

  /**
   * @param blockShape three extents; empty if the launch determines them
   */
  public Graph(String name, List<Parameter> parameters, List<Integer> blockShape, Block entry) {
    this.name = name;
    this.parameters = List.copyOf(parameters);
    this.blockShape = List.copyOf(blockShape);
    this.entry = entry;
  }

  public String name() {
    return name;
  }

  public List<Parameter> parameters() {
    return parameters;
  }

  /** Returns the arguments of all parameters, in order. */
  public List<Argument> arguments() {
    return parameters.stream().flatMap(each -> each.arguments().stream()).toList();
  }

  public List<Integer> blockShape() {
    return blockShape;
  }

  public Block entry() {
    return entry;
  }

  /** Returns the arrays that the kernel declares; the front end adds to them. */
  public List<ArrayVariable> arrays() {
    return arrays;
  }

  /** Returns the methods whose class files do not name their variables, if it is debugged. */
  public List<String> methodsWithoutVariables() {
    return methodsWithoutVariables;
  }

  /**
   * Returns the reachable blocks in reverse postorder: each before its successors, but for loops.
   */
  public List<Block> blocks() {
    var finished = new ArrayList<Block>();
    Set<Block> seen = new HashSet<>(List.of(entry));
    var pending = new ArrayDeque<Visit>();
    pending.push(Visit.of(entry));
    while (!pending.isEmpty()) {
      var visit = pending.peek();
      if (!visit.edges.hasNext()) {
        finished.add(pending.pop().block);
        continue;
      }
      var next = visit.edges.next().target();
      if (seen.add(next)) {
        pending.push(Visit.of(next));
      }
    }
    return finished.reversed();
  }

  /** Returns the edges into each reachable block. */
  public Map<Block, List<Edge>> predecessors() {
    var found = new LinkedHashMap<Block, List<Edge>>();
    for (var block : blocks()) {
      found.computeIfAbsent(block, _ -> new ArrayList<>());
      for (var edge : block.edges()) {
        found.computeIfAbsent(edge.target(), _ -> new ArrayList<>()).add(edge);
      }
    }
    return found;
  }

  /** Returns all instructions of reachable blocks. */
  public Stream<Value> instructions() {
    return blocks().stream().flatMap(block -> block.body().stream());
  }

  /** Replaces values everywhere, also by values that are replaced themselves. */
  public void replace(Map<Value, Value> replacements) {
    if (replacements.isEmpty()) {
      return;
    }
    for (var block : blocks()) {
      block.body().forEach(value -> value.mapInputs(v -> resolve(replacements, v)));
      block.edges().forEach(edge -> edge.arguments().replaceAll(v -> resolve(replacements, v)));
      if (block.end() instanceof Terminator.Branch(var condition, var yes, var no)) {
        block.setEnd(new Terminator.Branch(resolve(replacements, condition), yes, no));
      }
    }
  }

  private static Value resolve(Map<Value, Value> replacements, Value value) {
    var result = value;
    for (var next = replacements.get(result); next != null; next = replacements.get(result)) {
      result = next;
    }
    return result;
  }
}
