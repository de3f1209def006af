package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Alignment;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Combines stores to two or four neighboring elements into a vector store (PTX ISA 9.7.9.11), which
 * must be aligned to its size. The stores are in one block, and between them are only other stores
 * to neighboring elements, and values that neither read memory that may be written nor end the
 * thread.
 */
public final class CombineStores implements Pass {

  @Override
  public boolean run(Graph graph) {
    var alignment = new Alignment(graph);
    boolean changed = false;
    for (var block : graph.blocks()) {
      var vectors = new Vectors(alignment);
      block.body().forEach(vectors::visit);
      changed |= replace(block, vectors.finish());
    }
    return changed;
  }

  /** Finds the vectors of a block. */
  private static final class Vectors {
    private final Alignment alignment;
    private @Nullable Neighbors open;

    /** The stores of a vector, by each of them. */
    private final Map<Value, List<Value>> found = new HashMap<>();

    Vectors(Alignment alignment) {
      this.alignment = alignment;
    }

    void visit(Value value) {
      if (value.is(Op.STORE)) {
        store(value);
        return;
      }
      switch (value.effect()) {
        case READ, CHECK, CONVERGENT, WRITE -> close();
        case NONE, READ_ONLY, DEBUG -> {}
      }
    }

    private void store(Value value) {
      var key = Neighbors.Key.of(value);
      // another address may be that of the same elements
      if (open == null
          || !open.key().equals(key)
          || open.byOffset().containsKey(Neighbors.offset(value))) {
        close();
        open = new Neighbors(key);
      }
      open.byOffset().put(Neighbors.offset(value), value);
    }

    Map<Value, List<Value>> finish() {
      close();
      return found;
    }

    private void close() {
      if (open != null) {
        open.takeVectors(alignment)
            .forEach(vector -> vector.forEach(store -> found.put(store, vector)));
        open = null;
      }
    }
  }

  /** Puts each vector store where the last of its stores was. */
  private static boolean replace(Block block, Map<Value, List<Value>> vectors) {
    if (vectors.isEmpty()) {
      return false;
    }
    Map<List<Value>, Integer> passed = new HashMap<>();
    var body = new ArrayList<Value>();
    for (var value : block.body()) {
      var stores = vectors.get(value);
      if (stores == null) {
        body.add(value);
      } else if (passed.merge(stores, 1, Integer::sum) == stores.size()) {
        var inputs = new ArrayList<>(List.of(value.input(0)));
        stores.forEach(store -> inputs.add(store.input(1)));
        var access = stores.getFirst().attribute(Access.class).vector(stores.size());
        body.add(new Value(Op.STORE, value.type(), inputs, access, value.source()));
      }
    }
    block.body().clear();
    block.body().addAll(body);
    return true;
  }
}
