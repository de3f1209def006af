package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;

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
    var users = users(graph);
    for (var block : List.copyOf(predecessors.keySet())) {
      if (block != graph.entry()
          && block.body().isEmpty()
          && block.end() instanceof Terminator.Jump(var to)
          && to.target() != block
          && block.parameters().stream()
              .allMatch(
                  parameter -> Set.of(to).containsAll(users.getOrDefault(parameter, Set.of())))) {
        var edges = predecessors.getOrDefault(block, List.of());
        edges.forEach(edge -> redirect(edge, block, to));
        var target = predecessors.getOrDefault(to.target(), List.of());
        target.remove(to);
        target.addAll(edges);
        changed |= !edges.isEmpty();
        edges.clear();
      }
    }
    return changed;
  }

  /** Returns the instructions, edges and branches that use each value. */
  private static Map<Value, Set<Object>> users(Graph graph) {
    Map<Value, Set<Object>> users = new HashMap<>();
    BiConsumer<Value, Object> add =
        (value, user) -> users.computeIfAbsent(value, _ -> new HashSet<>()).add(user);
    for (var block : graph.blocks()) {
      block.body().forEach(user -> user.inputs().forEach(value -> add.accept(value, user)));
      block.edges().forEach(user -> user.arguments().forEach(value -> add.accept(value, user)));
      if (block.end() instanceof Terminator.Branch branch) {
        add.accept(branch.condition(), branch);
      }
    }
    return users;
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
    Map<Value, Value> values = new HashMap<>();
    boolean changed = false;
    var predecessors = graph.predecessors();
    for (var block : graph.blocks()) {
      while (block.end() instanceof Terminator.Jump(var to)
          && to.target() != block
          && to.target() != graph.entry()
          && predecessors.getOrDefault(to.target(), List.of()).size() == 1) {
        var next = to.target();
        for (int i = 0; i < next.parameters().size(); i++) {
          values.put(next.parameters().get(i), to.arguments().get(i));
        }
        block.body().addAll(next.body());
        block.setEnd(next.end());
        next.body().clear();
        next.setEnd(new Terminator.Return());
        changed = true;
      }
    }
    graph.replace(values);
    return changed;
  }
}
