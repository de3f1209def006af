package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Alignment;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Combines loads of two or four neighboring elements into a vector load (PTX ISA 9.7.9.8), which
 * must be aligned to its size. The loads are in one block, and nothing between them may write their
 * memory or end the thread.
 */
public final class CombineLoads implements Pass {

  @Override
  public boolean run(Graph graph) {
    var alignment = new Alignment(graph);
    Map<Value, Value> replaced = new HashMap<>();
    for (var block : graph.blocks()) {
      var vectors = new Vectors(alignment);
      block.body().forEach(vectors::visit);
      replace(block, vectors.finish(), replaced);
    }
    graph.replace(replaced);
    return !replaced.isEmpty();
  }

  /** Finds the vectors of a block. */
  private static final class Vectors {
    private final Alignment alignment;
    private final Map<Neighbors.Key, Neighbors> open = new LinkedHashMap<>();

    /** The loads of a vector, by each of them. */
    private final Map<Value, List<Value>> found = new HashMap<>();

    Vectors(Alignment alignment) {
      this.alignment = alignment;
    }

    void visit(Value value) {
      switch (value.effect()) {
        case READ, READ_ONLY -> {
          if (value.is(Op.LOAD) && value.attribute(Access.class).count() == 1) {
            var loads = open.computeIfAbsent(Neighbors.Key.of(value), Neighbors::new);
            loads.byOffset().putIfAbsent(Neighbors.offset(value), value);
          }
        }
        case CHECK -> close(_ -> true);
        case WRITE -> close(loads -> !loads.key().access().readOnly());
        case NONE, CONVERGENT, DEBUG -> {}
      }
    }

    Map<Value, List<Value>> finish() {
      close(_ -> true);
      return found;
    }

    private void close(Predicate<Neighbors> which) {
      Collection<Neighbors> closed = open.values().stream().filter(which).toList();
      for (var loads : closed) {
        loads
            .takeVectors(alignment)
            .forEach(vector -> vector.forEach(load -> found.put(load, vector)));
      }
      open.values().removeIf(which);
    }
  }

  /** Puts each vector load where the first of its loads was. */
  private static void replace(
      Block block, Map<Value, List<Value>> vectors, Map<Value, Value> replaced) {
    var body = new ArrayList<Value>();
    for (var value : block.body()) {
      var loads = vectors.get(value);
      if (loads == null) {
        body.add(value);
      } else if (!replaced.containsKey(value)) {
        var first = loads.getFirst();
        var vector =
            new Value(
                Op.LOAD,
                ValueType.VOID,
                first.inputs(),
                first.attribute(Access.class).vector(loads.size()),
                value.source());
        body.add(vector);
        for (int i = 0; i < loads.size(); i++) {
          var load = loads.get(i);
          var part = new Value(Op.PART, load.type(), List.of(vector), i, load.source());
          body.add(part);
          replaced.put(load, part);
        }
      }
    }
    block.body().clear();
    block.body().addAll(body);
  }
}
