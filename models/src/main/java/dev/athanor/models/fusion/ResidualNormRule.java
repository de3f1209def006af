package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;

/** Joins the sum of two tensors into the norm that reads it; other readers read it from there. */
final class ResidualNormRule implements Rule {

  private static final Set<String> NORMS = Set.of("rms-norm", "layer-norm");

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!NORMS.contains(last.op())) {
      return false;
    }
    var sum =
        graph
            .step(Rewriter.input(last, "x"))
            .filter(step -> graph.isMap(step, "x0 + x1"))
            .filter(step -> isResidual(graph, step))
            .orElse(null);
    if (sum == null || !hasConstants(graph, last)) {
      return false;
    }
    var inputs = new LinkedHashMap<String, Source>();
    inputs.put("x", Rewriter.input(sum, "x0"));
    inputs.put("residual", Rewriter.input(sum, "x1"));
    last.inputs().forEach(inputs::putIfAbsent);
    var outputs = new LinkedHashMap<String, String>();
    outputs.put("y", Rewriter.output(last));
    if (graph.readers(sum) > 1) {
      outputs.put("sum", Rewriter.output(sum));
    }
    var joined = new Step("residual-" + last.op(), inputs, last.attributes(), outputs);
    return graph.replace(List.of(last, sum), List.of(joined));
  }

  /** Returns whether gamma and beta are constants, which cannot depend on the sum. */
  private static boolean hasConstants(Rewriter graph, Step norm) {
    return norm.inputs().entrySet().stream()
        .allMatch(each -> each.getKey().equals("x") || graph.constant(each.getValue()).isPresent());
  }

  private static boolean isResidual(Rewriter graph, Step sum) {
    var type = graph.type(Rewriter.output(sum));
    return sum.inputs().values().stream().map(graph::type).allMatch(type::equals);
  }
}
