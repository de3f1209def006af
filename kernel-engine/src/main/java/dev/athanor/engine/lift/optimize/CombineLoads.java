package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Combines loads of two or four neighboring elements into a vector load (PTX ISA 9.7.9.8), which
 * must be aligned to its size. The loads are in one block, and nothing between them may write their
 * memory or end the thread.
 */
public final class CombineLoads implements Pass {
  private static final int[] COUNTS = {4, 2};

  /** What the loads of a vector agree in: the address, and their access at the offset 0. */
  private record Key(Value address, Access access) {
    static Key of(Value load) {
      var access = load.attribute(Access.class);
      return new Key(load.input(0), access.plus(-access.offset()));
    }
  }

  @Override
  public boolean run(Graph graph) {
    var alignment = new Alignment(graph);
    Map<Value, Value> replaced = new HashMap<>();
    for (var block : graph.blocks()) {
      combine(block, alignment, replaced);
    }
    graph.replace(replaced);
    return !replaced.isEmpty();
  }

  private static void combine(Block block, Alignment alignment, Map<Value, Value> replaced) {
    Map<Value, List<Value>> vectors = new HashMap<>();
    Map<Key, Map<Long, Value>> open = new LinkedHashMap<>();
    for (var value : block.body()) {
      switch (value.effect()) {
        case READ, READ_ONLY -> {
          if (value.is(Op.LOAD) && value.attribute(Access.class).count() == 1) {
            open.computeIfAbsent(Key.of(value), _ -> new HashMap<>())
                .putIfAbsent(value.attribute(Access.class).offset(), value);
          }
        }
        case CHECK -> {
          open.forEach((key, loads) -> combine(key, loads, alignment, vectors));
          open.clear();
        }
        case WRITE -> {
          open.forEach((key, loads) -> {
            if (!key.access.readOnly()) {
              combine(key, loads, alignment, vectors);
            }
          });
          open.keySet().removeIf(key -> !key.access.readOnly());
        }
        case NONE, CONVERGENT, DEBUG -> {}
      }
    }
    open.forEach((key, loads) -> combine(key, loads, alignment, vectors));
    if (!vectors.isEmpty()) {
      replace(block, vectors, replaced);
    }
  }

  /**
   * Finds vectors among the loads from one address.
   *
   * @param loads by their offsets; those of vectors are removed
   * @param vectors takes the loads of a vector, by each of them
   */
  private static void combine(
      Key key, Map<Long, Value> loads, Alignment alignment, Map<Value, List<Value>> vectors) {
    int bytes = key.access.element().bytes();
    int aligned = loads.size() < 2 ? 0 : alignment.of(key.address);
    for (int count : COUNTS) {
      int size = count * bytes;
      if (size > aligned) {
        continue;
      }
      for (long offset : new TreeSet<>(loads.keySet())) {
        var neighbors = new ArrayList<Value>();
        for (int i = 0; i < count; i++) {
          var load = loads.get(offset + (long) i * bytes);
          if (load != null) {
            neighbors.add(load);
          }
        }
        if (neighbors.size() == count && offset % size == 0) {
          neighbors.forEach(load -> loads.remove(load.attribute(Access.class).offset()));
          neighbors.forEach(load -> vectors.put(load, neighbors));
        }
      }
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
