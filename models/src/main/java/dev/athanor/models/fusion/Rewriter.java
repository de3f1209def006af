package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.models.graph.Ops;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Supplier;

/** A graph whose steps rules replace. It knows the types of tensors and the number of readers. */
final class Rewriter {

  private static final String MAP = "map";
  private static final String EXPRESSION = "expression";

  private final Graph original;
  private final Map<String, TensorType> types;
  private final Map<String, HostTensor> weights;
  private final Map<String, Integer> readers = new HashMap<>();

  /** The steps by the name of each output. */
  private final Map<String, Step> producers = new LinkedHashMap<>();

  /** Weights that rules added. */
  private final Map<String, Source> derived = new HashMap<>();

  private int names;

  Rewriter(Graph graph) {
    this.original = graph;
    this.types = graph.types();
    this.weights = new LinkedHashMap<>(graph.weights());
    graph.outputs().values().forEach(output -> readers.merge(output.step(), 1, Integer::sum));
    graph.steps().forEach(this::add);
  }

  private void add(Step step) {
    step.outputs().values().forEach(name -> producers.put(name, step));
    step.inputs().values().forEach(source -> readers.merge(source.name(), 1, Integer::sum));
  }

  /** Returns the steps, each after those whose outputs it reads. */
  List<Step> steps() {
    var sorted = new ArrayList<Step>();
    var done = new HashSet<String>();
    producers.values().forEach(step -> sort(step, sorted, done));
    return sorted;
  }

  private void sort(Step step, List<Step> sorted, Set<String> done) {
    if (done.contains(output(step))) {
      return;
    }
    // a graph may have paths of more steps than the stack has frames
    var path = new ArrayList<>(List.of(step));
    while (!path.isEmpty()) {
      var next = path.getLast();
      var missing =
          next.inputs().values().stream()
              .map(source -> producers.get(source.name()))
              .filter(each -> each != null && !done.contains(output(each)))
              .findFirst();
      if (missing.isPresent()) {
        path.add(missing.get());
      } else {
        path.removeLast();
        if (done.add(output(next))) {
          sorted.add(next);
        }
      }
    }
  }

  /** Returns the graph of the steps. */
  Graph graph() {
    var steps = steps();
    var kept = new LinkedHashMap<>(weights);
    kept.keySet().removeIf(name -> readers.getOrDefault(name, 0) == 0);
    return new Graph(original.inputs(), kept, steps, original.outputs());
  }

  boolean has(Step step) {
    return Objects.equals(producers.get(output(step)), step);
  }

  /** Returns the name of the first output. */
  static String output(Step step) {
    return step.outputs().values().iterator().next();
  }

  /** Returns the first output in its own shape. */
  Source result(Step step) {
    return new Source(output(step), type(output(step)).shape());
  }

  static Source input(Step step, String name) {
    return Objects.requireNonNull(step.inputs().get(name), name);
  }

  TensorType type(String name) {
    return Objects.requireNonNull(types.get(name), name);
  }

  TensorType type(Source source) {
    return source.type(types);
  }

  /** Returns the step that computes a tensor, if it is read in the shape in which it is written. */
  Optional<Step> step(Source source) {
    return Optional.ofNullable(producers.get(source.name()))
        .filter(_ -> type(source.name()).shape().equals(source.shape()));
  }

  /** Returns the step as {@link #step}, if its only output has no other reader. */
  Optional<Step> only(Source source) {
    return step(source).filter(step -> readers(step) == 1 && step.outputs().size() == 1);
  }

  /** Returns the step as {@link #only}, if it is of an op. */
  Optional<Step> only(Source source, String op) {
    return only(source).filter(step -> step.op().equals(op));
  }

  /** Returns the step that computes a tensor, which may be read in another shape. */
  Optional<Step> stepInAnyShape(Source source) {
    return Optional.ofNullable(producers.get(source.name()));
  }

  /** Returns the step that computes a tensor in any shape, if it is read once. */
  Optional<Step> onlyInAnyShape(Source source) {
    return stepInAnyShape(source).filter(step -> readers(step) == 1 && step.outputs().size() == 1);
  }

  /** Returns the number of readers of a step's outputs, of which results of the graph have one. */
  int readers(Step step) {
    return step.outputs().values().stream().mapToInt(name -> readers.getOrDefault(name, 0)).sum();
  }

  /** Returns the elements of a weight. */
  Optional<HostTensor> constant(Source source) {
    return Optional.ofNullable(weights.get(source.name()))
        .map(tensor -> new HostTensor(type(source), tensor.data()));
  }

  /** Returns the number in a weight of one element. */
  OptionalDouble scalar(Source source) {
    var tensor = constant(source).filter(each -> each.type().shape().elements() == 1);
    return tensor.isPresent() ? OptionalDouble.of(tensor.get().get(0)) : OptionalDouble.empty();
  }

  /** Adds a weight, unless there is one of the key. */
  Source weight(String key, Supplier<HostTensor> tensor) {
    return derived.computeIfAbsent(
        key,
        _ -> {
          var name = name();
          var made = tensor.get();
          weights.put(name, made);
          types.put(name, made.type());
          return new Source(name, made.type().shape());
        });
  }

  /** Returns a name that no tensor has. */
  String name() {
    var name = "fused:" + names++;
    return types.containsKey(name) ? name() : name;
  }

  /** Returns whether a step is a {@code map} of an expression and keeps the dtype of x0. */
  boolean isMap(Step step, String expression) {
    var dtype = step.attributes().get("outDtype");
    return step.op().equals(MAP)
        && expression.equals(step.attributes().get(EXPRESSION))
        && !step.attributes().containsKey("constants")
        && (dtype == null || type(input(step, "x0")).dtype().text().equals(dtype));
  }

  /** Returns the only reader's step as {@link #only}, if it is such a {@code map}. */
  Optional<Step> onlyMap(Source source, String expression) {
    return only(source).filter(step -> isMap(step, expression));
  }

  /** Returns how far a number may be from that of a formula: the rounding of constants. */
  static double precision(DType dtype) {
    return dtype.bytes() < 4 ? 8e-3 : 1e-6;
  }

  /**
   * Replaces steps. Outputs of the same name keep their dtype and number of elements.
   *
   * @return whether the ops accept the steps; if not, the graph is as before
   */
  boolean replace(List<Step> old, List<Step> added) {
    var known = new HashMap<String, TensorType>();
    for (var step : added) {
      if (!types(step, known)) {
        return false;
      }
    }
    types.putAll(known);
    old.forEach(this::remove);
    added.forEach(this::add);
    old.forEach(this::drop);
    return true;
  }

  /** Replaces a step by its output, unless that is a result of the graph. */
  boolean fold(Step step, HostTensor output) {
    var name = output(step);
    if (original.outputs().values().stream().anyMatch(each -> each.step().equals(name))) {
      return false;
    }
    remove(step);
    weights.put(name, output);
    types.put(name, output.type());
    return true;
  }

  private void remove(Step step) {
    step.outputs().values().forEach(name -> producers.remove(name, step));
    step.inputs().values().forEach(source -> readers.merge(source.name(), -1, Integer::sum));
  }

  /** Removes the steps that computed the inputs of a removed one and have no readers. */
  private void drop(Step removed) {
    for (var source : removed.inputs().values()) {
      var step = producers.get(source.name());
      if (step != null && readers(step) == 0) {
        remove(step);
        drop(step);
      }
    }
  }

  private boolean types(Step step, Map<String, TensorType> known) {
    var inputs = new LinkedHashMap<String, TensorType>();
    step.inputs()
        .forEach((name, source) -> {
          var written = known.getOrDefault(source.name(), types.get(source.name()));
          inputs.put(name, new TensorType(Objects.requireNonNull(written).dtype(), source.shape()));
        });
    Map<String, TensorType> computed;
    try {
      computed = Ops.outputs(step.op(), inputs, step.attributes());
    } catch (OpException e) {
      return false;
    }
    for (var output : step.outputs().entrySet()) {
      var type = Objects.requireNonNull(computed.get(output.getKey()));
      var before = types.get(output.getValue());
      if (before != null && !suits(output.getValue(), before, type)) {
        return false;
      }
      known.put(output.getValue(), type);
    }
    return true;
  }

  private boolean suits(String name, TensorType before, TensorType type) {
    return type.equals(before)
        || (type.dtype() == before.dtype()
            && type.shape().elements() == before.shape().elements()
            && original.outputs().values().stream().noneMatch(each -> each.step().equals(name)));
  }
}
