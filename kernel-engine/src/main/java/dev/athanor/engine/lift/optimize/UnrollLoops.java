package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.analysis.Loop;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.simplify.Range;
import dev.athanor.engine.lift.simplify.Simplifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Unrolls loops whose number of iterations is a small literal, as that of {@code for (int i =
 * threadIdxX(); i < 1024; i += 256)} in blocks of 256 threads.
 */
public final class UnrollLoops implements Pass {
  private static final int MOST_ITERATIONS = 64;
  private static final int MOST_INSTRUCTIONS = 1500;

  @Override
  public boolean run(Graph graph) {
    var dominators = new Dominators(graph);
    for (var loop : Loop.of(graph, dominators)) {
      if (unroll(graph, loop, dominators)) {
        return true; // other loops are stale
      }
    }
    return false;
  }

  private static boolean unroll(Graph graph, Loop loop, Dominators dominators) {
    var exits = loop.exits();
    if (exits.size() != 1 || loop.back().size() != 1 || loop.entries().size() != 1) {
      return false;
    }
    var exit = exits.getFirst();
    var latch = dominators.sourceOf(loop.back().getFirst());
    int tests = dominators.dominates(exit.from(), latch) ? tests(loop, exit) : 0;
    if (tests == 0) {
      tests = CountedLoop.of(loop).map(counted -> tests(counted, graph.blockShape())).orElse(0);
    }
    if (tests == 0 || tests * loop.size() > MOST_INSTRUCTIONS) {
      return false;
    }
    var entry = loop.entries().getFirst();
    LoopCopy last = null;
    for (int test = 1; test <= tests; test++) {
      last = new LoopCopy(loop.blocks());
      entry.setTarget(last.of(loop.header()));
      decide(last.of(exit.from()), exit, test == tests);
      entry = backEdge(last.of(latch), last.of(loop.header()));
    }
    if (last != null) {
      graph.replace(last.values()); // after the loop, its values are those of the last copy
    }
    return true;
  }

  /** Replaces the test of a copy by its outcome. */
  private static void decide(Block test, Loop.Exit exit, boolean leaves) {
    if (test.end() instanceof Terminator.Branch branch) {
      boolean exitsOnYes =
          exit.from().end() instanceof Terminator.Branch original && original.yes() == exit.edge();
      test.setEnd(new Terminator.Jump(exitsOnYes == leaves ? branch.yes() : branch.no()));
    }
  }

  /** Returns the edge by which a copy of the loop goes on; one without effect if it left. */
  private static Edge backEdge(Block latch, Block header) {
    return latch.edges().stream()
        .filter(edge -> edge.target() == header)
        .findFirst()
        .orElse(new Edge(header));
  }

  /** Returns how often the exit is tested; 0 if that is unknown or too often. */
  private static int tests(Loop loop, Loop.Exit exit) {
    if (!(exit.from().end() instanceof Terminator.Branch branch)) {
      return 0;
    }
    boolean exitsOnYes = branch.yes() == exit.edge();
    Map<Value, Value> known = new HashMap<>(loop.initial());
    known.values().removeIf(value -> !value.is(Op.CONSTANT));
    for (int test = 1; test <= MOST_ITERATIONS + 1; test++) {
      var results = new HashMap<>(known);
      var condition = evaluate(branch.condition(), results);
      if (condition == null) {
        return 0;
      }
      if (condition.isConstant(exitsOnYes)) {
        return test;
      }
      known = new HashMap<>();
      var parameters = loop.header().parameters();
      for (int i = 0; i < parameters.size(); i++) {
        var next = evaluate(loop.back().getFirst().arguments().get(i), results);
        if (next != null) {
          known.put(parameters.get(i), next);
        }
      }
    }
    return 0;
  }

  /** Returns how often a loop is tested, from whatever its counter starts; 0 if that differs. */
  private static int tests(CountedLoop loop, List<Integer> blockShape) {
    var range = Range.of(loop.start(), blockShape);
    long iterations = loop.iterations(range.least());
    return iterations == loop.iterations(range.most()) && iterations <= MOST_ITERATIONS
        ? (int) iterations + 1
        : 0;
  }

  /** Returns the literal that a value is in an iteration; null if it is none. */
  private static @Nullable Value evaluate(Value value, Map<Value, Value> known) {
    if (value.is(Op.CONSTANT)) {
      return value;
    }
    var result = known.get(value);
    if (result != null || value.is(Op.PHI) || value.effect() != Effect.NONE) {
      return result;
    }
    List<Value> inputs = new ArrayList<>();
    for (var input : value.inputs()) {
      var literal = evaluate(input, known);
      if (literal == null) {
        return null;
      }
      inputs.add(literal);
    }
    var simple = inputs.isEmpty() ? null : Simplifier.simplify(value.with(inputs));
    if (simple != null && simple.is(Op.CONSTANT)) {
      known.put(value, simple);
      return simple;
    }
    return null;
  }
}
