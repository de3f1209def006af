package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The parameters whose memory an address may point into, and the arrays that a kernel writes. */
public final class WrittenArrays {
  private final Map<Value, List<Value>> phis = new HashMap<>();
  private final Set<String> written = new TreeSet<>();

  private WrittenArrays() {}

  /** Analyzes a graph. */
  public static WrittenArrays of(Graph graph) {
    var found = new WrittenArrays();
    for (Map.Entry<Block, List<Edge>> each : graph.predecessors().entrySet()) {
      var parameters = each.getKey().parameters();
      for (int i = 0; i < parameters.size(); i++) {
        int index = i;
        found.phis.put(
            parameters.get(i),
            each.getValue().stream().map(edge -> edge.arguments().get(index)).toList());
      }
    }
    graph
        .instructions()
        .filter(value -> value.effect() == Effect.WRITE && !value.inputs().isEmpty())
        .filter(WrittenArrays::isGlobal)
        .forEach(value -> found.written.addAll(found.roots(value.input(0))));
    return found;
  }

  private static boolean isGlobal(Value value) {
    return value.is(Op.STORE)
        ? value.attribute(Access.class).space() == Access.Space.GLOBAL
        : value.input(0).type() == ValueType.LONG;
  }

  /** Returns the names of the parameters that the kernel writes. */
  public Set<String> names() {
    return written;
  }

  /** Returns the names of the parameters that an address may be derived from. */
  Set<String> roots(Value address) {
    var roots = new TreeSet<String>();
    collect(address, roots, new HashSet<>());
    return roots;
  }

  private void collect(Value value, Set<String> roots, Set<Value> seen) {
    if (value.type() == ValueType.LONG && seen.add(value)) {
      if (value.is(Op.ARGUMENT)) {
        roots.add(value.attribute(String.class));
      }
      phis.getOrDefault(value, List.of()).forEach(each -> collect(each, roots, seen));
      if (!value.is(Op.LOAD)) {
        value.inputs().forEach(each -> collect(each, roots, seen));
      }
    }
  }
}
