package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins the sum with a vector into the step before: the bias of a product, beta of a norm. */
final class BiasRule implements Rule {

  /** The input of each op that is added last. */
  private static final Map<String, String> BIASES =
      Map.of("matmul", "bias", "matmul-int8", "bias", "layer-norm", "beta");

  @Override
  public boolean apply(Rewriter graph, Step last) {
    if (!graph.isMap(last, "x0 + x1")) {
      return false;
    }
    var operands = Sum.operands(last);
    return joins(graph, last, operands.getFirst(), operands.getLast())
        || joins(graph, last, operands.getLast(), operands.getFirst());
  }

  private static boolean joins(Rewriter graph, Step last, Source sum, Source bias) {
    var step = graph.only(sum).filter(each -> BIASES.containsKey(each.op())).orElse(null);
    if (step == null || step.attributes().containsKey(ActivationRule.ACTIVATION)) {
      return false;
    }
    var input = BIASES.get(step.op());
    boolean fits =
        !step.inputs().containsKey(input)
            && graph.type(bias).dtype() == graph.type(sum).dtype()
            && bias.shape().rank() == 1
            && bias.shape().extent(0) == sum.shape().extent(-1);
    if (!fits) {
      return false;
    }
    var inputs = new LinkedHashMap<>(step.inputs());
    inputs.put(input, bias);
    var output = Map.of(step.outputs().keySet().iterator().next(), Rewriter.output(last));
    var joined = new Step(step.op(), inputs, step.attributes(), output);
    return graph.replace(List.of(last, step), List.of(joined));
  }
}
