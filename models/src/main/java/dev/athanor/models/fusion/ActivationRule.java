package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Step;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Joins activation functions into products and convolutions. */
final class ActivationRule implements Rule {

  static final String ACTIVATION = "activation";

  /** Ops with an activation. */
  private static final Set<String> ACTIVATED = Set.of("matmul", "convolution");

  private static final Map<String, String> MAPS = Map.of("relu(x)", "relu", "silu(x)", "silu");
  private static final Map<String, String> FORMS = Map.of("erf", "gelu", "tanh", "gelu-tanh");

  @Override
  public boolean apply(Rewriter graph, Step last) {
    var activation = activation(graph, last);
    if (activation.isEmpty()) {
      return false;
    }
    var before =
        graph
            .onlyInAnyShape(last.inputs().values().iterator().next())
            .filter(step -> ACTIVATED.contains(step.op()))
            .filter(step -> !step.attributes().containsKey(ACTIVATION));
    if (before.isEmpty()) {
      return false;
    }
    var step = before.get();
    var attributes = new LinkedHashMap<>(step.attributes());
    attributes.put(ACTIVATION, activation.get());
    var output = Map.of(step.outputs().keySet().iterator().next(), Rewriter.output(last));
    var joined = new Step(step.op(), step.inputs(), attributes, output);
    return graph.replace(List.of(last, step), List.of(joined));
  }

  private static Optional<String> activation(Rewriter graph, Step step) {
    if (step.op().equals("gelu")) {
      return Optional.ofNullable(FORMS.get(step.attributes().getOrDefault("form", "erf")));
    }
    return MAPS.entrySet().stream()
        .filter(each -> graph.isMap(step, each.getKey()))
        .map(Map.Entry::getValue)
        .findFirst();
  }
}
