package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Copy propagation: removes block parameters that are the same value on all edges. */
public final class RemoveTrivialParameters implements Pass {

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    boolean again = true;
    while (again) {
      var replaced = new HashMap<Value, Value>();
      for (Map.Entry<Block, List<Edge>> each : graph.predecessors().entrySet()) {
        simplify(each.getKey(), each.getValue(), replaced);
      }
      graph.replace(replaced);
      again = !replaced.isEmpty();
      changed |= again;
    }
    return changed;
  }

  private static void simplify(Block block, List<Edge> edges, Map<Value, Value> replaced) {
    for (int i = block.parameters().size() - 1; i >= 0 && !edges.isEmpty(); i--) {
      var parameter = block.parameters().get(i);
      var only = only(parameter, i, edges);
      if (only != null && !replaced.containsKey(only)) {
        int at = i;
        edges.forEach(edge -> edge.arguments().remove(at));
        block.parameters().remove(i);
        replaced.put(parameter, only);
      }
    }
  }

  /** Returns the one value, besides itself, that a parameter has; null if there are several. */
  private static @Nullable Value only(Value parameter, int index, List<Edge> edges) {
    Value found = null;
    for (var edge : edges) {
      var argument = edge.arguments().get(index);
      if (argument != parameter && !same(argument, found)) {
        if (found != null) {
          return null;
        }
        found = argument;
      }
    }
    return found;
  }

  private static boolean same(Value a, @Nullable Value b) {
    return b != null
        && (a == b
            || (a.is(Op.CONSTANT)
                && b.is(Op.CONSTANT)
                && a.type() == b.type()
                && b.isConstant(a.attribute(Object.class))));
  }
}
