package dev.athanor.engine.lift.analysis;

import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Value;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The values that the edges into a block pass to its parameters. */
public final class PhiInputs {
  private final Map<Value, List<Value>> inputs = new HashMap<>();

  public PhiInputs(Graph graph) {
    graph
        .predecessors()
        .forEach((block, edges) -> {
          for (int i = 0; i < block.parameters().size(); i++) {
            int index = i;
            inputs.put(
                block.parameters().get(i),
                edges.stream().map(edge -> edge.arguments().get(index)).toList());
          }
        });
  }

  /** Returns the values that a parameter can have; none for other values. */
  public List<Value> of(Value phi) {
    return inputs.getOrDefault(phi, List.of());
  }
}
