package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.analysis.Loop;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Turns loops that test at their start into loops that test at their end, behind one test before
 * the loop. Each edge to the header gets a copy of it.
 */
public final class RotateLoops implements Pass {
  private static final int MOST_INSTRUCTIONS = 16;

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    Set<Block> tried = new HashSet<>();
    boolean again = true;
    while (again) {
      again = false;
      var dominators = new Dominators(graph);
      for (var loop : Loop.of(graph, dominators)) {
        if (tried.add(loop.header()) && isCandidate(loop, dominators)) {
          again = new Rotation(graph, loop).run();
          changed |= again;
          break; // the dominators are stale
        }
      }
    }
    return changed;
  }

  private static boolean isCandidate(Loop loop, Dominators dominators) {
    var header = loop.header();
    return header.end() instanceof Terminator.Branch
        && leaves(header, loop)
        && header.successors().stream().anyMatch(loop.blocks()::contains)
        && header.body().size() <= MOST_INSTRUCTIONS
        && header.body().stream().allMatch(value -> isCopyable(value.effect()))
        && loop.back().stream().noneMatch(edge -> leaves(dominators.sourceOf(edge), loop));
  }

  private static boolean isCopyable(Effect effect) {
    return effect != Effect.WRITE && effect != Effect.CONVERGENT;
  }

  private static boolean leaves(Block block, Loop loop) {
    return block.successors().stream().anyMatch(next -> !loop.blocks().contains(next));
  }

  private static final class Rotation {
    private final Graph graph;
    private final Loop loop;
    private final Block header;
    private final Set<Value> own = new HashSet<>();

    Rotation(Graph graph, Loop loop) {
      this.graph = graph;
      this.loop = loop;
      header = loop.header();
      own.addAll(header.parameters());
      own.addAll(header.body());
    }

    boolean run() {
      var branch = (Terminator.Branch) header.end();
      var starts = List.of(split(branch.yes()), split(branch.no()));
      var dominators = new Dominators(graph);
      var used = new ArrayList<Map<Value, Value>>();
      for (var start : starts) {
        used.add(parameters(start, dominators));
      }
      if (usesElsewhere(starts, dominators)) {
        return false;
      }
      for (int i = 0; i < starts.size(); i++) {
        var map = used.get(i);
        var start = starts.get(i);
        start.parameters().addAll(map.values());
        dominated(start, dominators).forEach(block -> replace(block, map));
      }
      var edges = new ArrayList<>(loop.entries());
      edges.addAll(loop.back());
      for (var edge : edges) {
        var copy = new LoopCopy(List.of(header));
        edge.setTarget(copy.of(header));
        pass(copy, starts, used);
      }
      return true;
    }

    /** Puts an empty block on an edge. */
    private static Block split(Edge edge) {
      var block = new Block();
      block.setEnd(new Terminator.Jump(new Edge(edge.target(), edge.arguments())));
      edge.setTarget(block);
      edge.setArguments(List.of());
      return block;
    }

    private static List<Block> dominated(Block start, Dominators dominators) {
      return dominators.order().stream().filter(b -> dominators.dominates(start, b)).toList();
    }

    /** Returns a new parameter for each value of the header that is used after an edge from it. */
    private Map<Value, Value> parameters(Block start, Dominators dominators) {
      var found = new LinkedHashMap<Value, Value>();
      for (var block : dominated(start, dominators)) {
        for (var value : uses(block)) {
          if (own.contains(value)) {
            found.computeIfAbsent(value, v -> Value.phi(v.type()));
          }
        }
      }
      return found;
    }

    private boolean usesElsewhere(List<Block> starts, Dominators dominators) {
      return dominators.order().stream()
          .filter(block -> block != header)
          .filter(block -> starts.stream().noneMatch(s -> dominators.dominates(s, block)))
          .anyMatch(block -> uses(block).stream().anyMatch(own::contains));
    }

    private static List<Value> uses(Block block) {
      var found = new ArrayList<Value>();
      block.body().forEach(value -> found.addAll(value.inputs()));
      block.edges().forEach(edge -> found.addAll(edge.arguments()));
      if (block.end() instanceof Terminator.Branch branch) {
        found.add(branch.condition());
      }
      return found;
    }

    private static void replace(Block block, Map<Value, Value> by) {
      block.body().forEach(value -> value.mapInputs(v -> by.getOrDefault(v, v)));
      block.edges().forEach(edge -> edge.arguments().replaceAll(v -> by.getOrDefault(v, v)));
      if (block.end() instanceof Terminator.Branch(var condition, var yes, var no)) {
        block.setEnd(new Terminator.Branch(by.getOrDefault(condition, condition), yes, no));
      }
    }

    /** Passes the values of a copy of the header to what follows. */
    private void pass(LoopCopy copy, List<Block> starts, List<Map<Value, Value>> used) {
      for (var edge : copy.of(header).edges()) {
        int which = starts.indexOf(edge.target());
        edge.setArguments(used.get(which).keySet().stream().map(copy::of).toList());
      }
    }
  }
}
