package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.simplify.Simplifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Global value numbering: walks the dominator tree, simplifies each value, and replaces it by an
 * equal one that is computed on every path to it.
 */
public final class NumberValues implements Pass {

  /** What two equal values agree in; literals are compared as numbers, others as objects. */
  private record Key(Op op, ValueType type, List<Object> inputs, @Nullable Object attribute) {
    static Key of(Value value) {
      var inputs = new ArrayList<Object>();
      for (var input : value.inputs()) {
        inputs.add(
            input.is(Op.CONSTANT)
                ? new Literal(input.type(), input.attribute(Object.class))
                : input);
      }
      return new Key(value.op(), value.type(), List.copyOf(inputs), value.rawAttribute());
    }
  }

  private record Literal(ValueType type, Object number) {}

  @Override
  public boolean run(Graph graph) {
    return new Walk(graph).run();
  }

  private static final class Walk {
    private final Graph graph;
    private final Dominators dominators;
    private final Map<Value, Value> replaced = new HashMap<>();
    private final Set<Value> placed = new HashSet<>();
    private boolean changed;

    Walk(Graph graph) {
      this.graph = graph;
      dominators = new Dominators(graph);
    }

    boolean run() {
      for (var block : dominators.order()) {
        placed.addAll(block.parameters());
        placed.addAll(block.body());
      }
      visit(graph.entry(), Map.of());
      graph.replace(replaced);
      return changed || !replaced.isEmpty();
    }

    private void visit(Block block, Map<Key, Value> above) {
      var known = new HashMap<>(above);
      var body = new ArrayList<Value>();
      for (var value : block.body()) {
        value.mapInputs(this::current);
        var simple = simplified(value);
        boolean exists = simple.is(Op.CONSTANT) || (simple != value && placed.contains(simple));
        var result = exists ? simple : number(simple, known, body);
        if (result != value) {
          replaced.put(value, result);
        }
      }
      block.body().clear();
      block.body().addAll(body);
      for (var edge : block.edges()) {
        edge.arguments().replaceAll(this::current);
      }
      if (block.end() instanceof Terminator.Branch(var condition, var yes, var no)) {
        block.setEnd(new Terminator.Branch(current(condition), yes, no));
      }
      for (var child : dominators.children(block)) {
        visit(child, known);
      }
    }

    private Value current(Value value) {
      var result = value;
      for (var next = replaced.get(result); next != null; next = replaced.get(result)) {
        result = next;
      }
      return result;
    }

    private Value simplified(Value value) {
      var result = value;
      for (var next = Simplifier.simplify(result);
          next != null;
          next = Simplifier.simplify(result)) {
        result = next;
        changed = true;
        if (placed.contains(result) || result.is(Op.CONSTANT)) {
          break;
        }
      }
      return result;
    }

    /** Returns an equal value that is known already, or appends this one to the block. */
    private Value number(Value value, Map<Key, Value> known, List<Value> body) {
      if (isShared(value)) {
        var equal = known.putIfAbsent(Key.of(value), value);
        if (equal != null) {
          return equal;
        }
      }
      placed.add(value);
      body.add(value);
      return value;
    }

    /** Returns whether an equal value computed before may stand for this one. */
    private static boolean isShared(Value value) {
      var effect = value.effect();
      return effect == Effect.NONE || effect == Effect.READ_ONLY || effect == Effect.CHECK;
    }
  }
}
