package dev.athanor.models;

import dev.athanor.models.graph.Graph;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** Runs graphs by the float64 references of the ops. */
public final class References {

  private static final Catalogue CATALOGUE = Catalogue.load();

  private References() {}

  /** Returns the outputs of a graph, rounded to the dtypes of the steps. */
  public static Map<String, HostTensor> run(Graph graph, Map<String, HostTensor> inputs) {
    var tensors = new HashMap<>(graph.weights());
    tensors.putAll(inputs);
    for (var step : graph.steps()) {
      var op = CATALOGUE.find(step.op()).orElseThrow();
      var given = new LinkedHashMap<String, HostTensor>();
      step.inputs()
          .forEach((name, source) -> {
            var tensor = Objects.requireNonNull(tensors.get(source.name()), source.name());
            var type = new TensorType(tensor.type().dtype(), source.shape());
            given.put(name, new HostTensor(type, tensor.data()));
          });
      var attributes = Attributes.of(op.description(), step.attributes());
      var types = op.outputs(HostTensor.types(given), attributes);
      var computed = op.reference(given, attributes);
      step.outputs()
          .forEach((output, name) ->
              tensors.put(
                  name,
                  HostTensor.of(
                      Objects.requireNonNull(types.get(output)),
                      Objects.requireNonNull(computed.get(output)))));
    }
    var outputs = new LinkedHashMap<String, HostTensor>();
    graph
        .outputs()
        .forEach((name, output) ->
            outputs.put(name, Objects.requireNonNull(tensors.get(output.step()))));
    return outputs;
  }
}
