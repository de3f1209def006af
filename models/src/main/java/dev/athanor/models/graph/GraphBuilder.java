package dev.athanor.models.graph;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Builds a graph op by op. An op whose inputs are all constants runs at once, by its float64
 * reference, if its outputs are small; one that dequantizes a constant is a step as well, which
 * {@linkplain dev.athanor.models.fusion fusion} removes.
 */
public final class GraphBuilder {

  /** Maximum elements of an output that is computed while the graph is built. */
  public static final long MOST_FOLDED = 1 << 20;

  private final Map<String, TensorType> inputs = new LinkedHashMap<>();
  private final Map<String, HostTensor> constants = new LinkedHashMap<>();
  private final List<Step> steps = new ArrayList<>();

  /** The types of the outputs of steps. */
  private final Map<String, TensorType> computed = new HashMap<>();

  private int names;

  /** Adds an input of the graph. */
  public Value input(String name, TensorType type) {
    inputs.put(name, type);
    return new Value(name, type, Optional.empty());
  }

  /** Adds a constant. */
  public Value constant(HostTensor tensor) {
    var name = name("constant");
    constants.put(name, tensor);
    return new Value(name, tensor.type(), Optional.of(tensor));
  }

  /** Returns a name that no input has; inputs come first. */
  private String name(String kind) {
    var name = "%s:%d".formatted(kind, names++);
    return inputs.containsKey(name) ? name(kind) : name;
  }

  /**
   * Runs an op.
   *
   * @param given inputs by name
   * @param attributes the attributes that do not have their defaults
   * @return the outputs by name, in the order of the op's description
   * @throws dev.athanor.ops.OpException if the inputs and attributes do not suit the op
   */
  public Map<String, Value> run(String name, Map<String, Value> given, Map<String, ?> attributes) {
    var op = Ops.find(name);
    var types = new LinkedHashMap<String, TensorType>();
    given.forEach((input, value) -> types.put(input, value.type()));
    Catalogue.checkInputs(op.description(), types);
    var checked = Attributes.of(op.description(), attributes);
    var outputs = op.outputs(types, checked);
    if (!isFolded(given, outputs)) {
      return step(op, given, attributes, outputs);
    }
    var constants = folded(op, given, checked, outputs);
    if (!isDequantized(given, outputs)) {
      return constants;
    }
    // a step, too: a product may read the integers
    var values = step(op, given, attributes, outputs);
    values.replaceAll((output, value) ->
        new Value(
            value.source(),
            value.type(),
            Objects.requireNonNull(constants.get(output)).constant()));
    return values;
  }

  /** Returns whether the output has a number for each integer of eight bits. */
  private static boolean isDequantized(Map<String, Value> given, Map<String, TensorType> outputs) {
    return outputs.values().stream()
        .anyMatch(output ->
            output.dtype() == DType.F32
                && given.values().stream()
                    .anyMatch(value ->
                        value.dtype() == DType.I8
                            && value.elements() > 1
                            && value.elements() == output.shape().elements()));
  }

  private static boolean isFolded(Map<String, Value> given, Map<String, TensorType> outputs) {
    return given.values().stream().allMatch(value -> value.constant().isPresent())
        && outputs.values().stream().allMatch(type -> type.shape().elements() <= MOST_FOLDED);
  }

  private Map<String, Value> folded(
      Op op, Map<String, Value> given, Attributes attributes, Map<String, TensorType> outputs) {
    var elements = new LinkedHashMap<String, HostTensor>();
    given.forEach((input, value) -> elements.put(input, value.constant().orElseThrow()));
    var results = op.reference(elements, attributes);
    var values = new LinkedHashMap<String, Value>();
    for (var output : op.description().outputs()) {
      var type = outputs.get(output.name());
      if (type != null) {
        var numbers = Objects.requireNonNull(results.get(output.name()), output.name());
        values.put(output.name(), constant(HostTensor.of(type, numbers)));
      }
    }
    return values;
  }

  private Map<String, Value> step(
      Op op, Map<String, Value> given, Map<String, ?> attributes, Map<String, TensorType> outputs) {
    var sources = new LinkedHashMap<String, Source>();
    given.forEach((input, value) -> sources.put(input, new Source(value.source(), value.shape())));
    var values = new LinkedHashMap<String, Value>();
    var names = new LinkedHashMap<String, String>();
    for (var output : op.description().outputs()) {
      var type = outputs.get(output.name());
      if (type != null) {
        var name = name(op.description().name());
        names.put(output.name(), name);
        computed.put(name, type);
        values.put(output.name(), new Value(name, type, Optional.empty()));
      }
    }
    steps.add(new Step(op.description().name(), sources, Map.copyOf(attributes), names));
    return values;
  }

  /**
   * Returns the graph of the steps that the outputs need.
   *
   * @param outputs by name
   */
  public Graph build(Map<String, Value> outputs) {
    var named = new LinkedHashMap<String, Graph.Output>();
    var used = new HashSet<String>();
    outputs.forEach((name, value) -> {
      var step = used.contains(value.source()) ? copied(value) : written(value);
      used.add(step);
      named.put(name, new Graph.Output(step, value.type()));
    });
    var needed = new HashSet<String>();
    var kept = new ArrayDeque<Step>();
    named.values().forEach(output -> needed.add(output.step()));
    for (var step : steps.reversed()) {
      if (step.outputs().values().stream().anyMatch(needed::contains)) {
        kept.addFirst(without(step, needed));
        step.inputs().values().forEach(source -> needed.add(source.name()));
      }
    }
    return new Graph(inputs, weights(needed), List.copyOf(kept), named);
  }

  /** Returns a step without its optional outputs that nothing reads. */
  private static Step without(Step step, Set<String> needed) {
    var outputs = new LinkedHashMap<>(step.outputs());
    for (var output : Ops.find(step.op()).description().outputs()) {
      if (output.optional() && !needed.contains(step.outputs().get(output.name()))) {
        outputs.remove(output.name());
      }
    }
    return new Step(step.op(), step.inputs(), step.attributes(), outputs);
  }

  /** Returns the name of a step's output with the shape of a value; copies other values. */
  private String written(Value value) {
    if (value.type().equals(computed.get(value.source()))) {
      return value.source();
    }
    return copied(value);
  }

  /** Returns the name of a copy. */
  private String copied(Value value) {
    var flat = new Value(value.source(), value.type(), Optional.empty());
    var attributes = Map.of("expression", "x");
    var op = Ops.find("map");
    var copy = step(op, Map.of("x0", flat), attributes, Map.of("y", value.type()));
    return Objects.requireNonNull(copy.get("y")).source();
  }

  private Map<String, HostTensor> weights(Set<String> needed) {
    var weights = new LinkedHashMap<String, HostTensor>();
    constants.forEach((name, tensor) -> {
      if (needed.contains(name)) {
        weights.put(name, tensor);
      }
    });
    return weights;
  }
}
