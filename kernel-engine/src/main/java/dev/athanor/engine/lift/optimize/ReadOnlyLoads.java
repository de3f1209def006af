package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.WrittenArrays;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Marks loads of arrays that the kernel never writes: they go through the read-only cache and may
 * be merged. The launch refuses the same memory for an array that is written and another. A kernel
 * that waits for the previous launch has no such arrays: that one may write them before the wait.
 */
public final class ReadOnlyLoads implements Pass {

  @Override
  public boolean run(Graph graph) {
    if (graph.instructions().anyMatch(ReadOnlyLoads::awaitsPreviousGrid)) {
      return false;
    }
    var arrays = WrittenArrays.of(graph);
    Map<Value, Value> replaced = new HashMap<>();
    for (var block : graph.blocks()) {
      block
          .body()
          .replaceAll(value -> {
            if (!value.is(Op.LOAD)) {
              return value;
            }
            var access = value.attribute(Access.class);
            var roots = arrays.roots(value.input(0));
            if (access.space() != Access.Space.GLOBAL
                || access.readOnly()
                || roots.isEmpty()
                || !Collections.disjoint(roots, arrays.names())) {
              return value;
            }
            var load =
                new Value(
                    Op.LOAD,
                    value.type(),
                    List.of(value.input(0)),
                    access.asReadOnly(),
                    value.source());
            replaced.put(value, load);
            return load;
          });
    }
    graph.replace(replaced);
    return !replaced.isEmpty();
  }

  private static boolean awaitsPreviousGrid(Value value) {
    return value.is(Op.CALL) && value.attribute(Intrinsic.class).name().equals("awaitPreviousGrid");
  }
}
