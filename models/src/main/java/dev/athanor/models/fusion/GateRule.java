package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins the product of an activated gate and a tensor into {@code swiglu} or {@code geglu}. */
final class GateRule implements Rule {

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!graph.isMap(last, "x0 * x1")) {
      return false;
    }
    var operands = Sum.operands(last);
    return joins(graph, last, operands.getFirst(), operands.getLast())
        || joins(graph, last, operands.getLast(), operands.getFirst());
  }

  private static boolean joins(Rewriter graph, Step last, Source gate, Source up) {
    var activated = graph.only(gate);
    boolean isSilu = activated.filter(step -> graph.isMap(step, "silu(x)")).isPresent();
    if (!isSilu && activated.filter(step -> step.op().equals("gelu")).isEmpty()) {
      return false;
    }
    var step = activated.orElseThrow();
    var inputs = new LinkedHashMap<String, Source>();
    inputs.put("gate", step.inputs().values().iterator().next());
    inputs.put("up", up);
    var output = Map.of("y", Rewriter.output(last));
    var joined =
        isSilu
            ? new Step("swiglu", inputs, Map.of(), output)
            : new Step("geglu", inputs, step.attributes(), output);
    return graph.replace(List.of(last, step), List.of(joined));
  }
}
