package dev.athanor.models.pipeline;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Ops;
import dev.athanor.models.graph.Value;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A graph of steps that a client wrote. The steps run as they are, without fusion, except that
 * those of constants run once. Calls without states begin with zeros.
 */
public final class PipelineModel implements ModelDefinition {

  /** The name of a state's output is that of its input and this. */
  private static final String NEXT = ".next";

  /**
   * The members of the graph.
   *
   * @param inputs what calls give
   * @param constants tensors by the names with which steps may read them
   * @param residents handles or names of resident tensors by the names with which steps read them
   * @param steps in the order in which they run
   * @param outputs names of steps' outputs by the names of the model's
   * @param states what sessions keep, by the name of the input
   */
  public record Members(
      List<Input> inputs,
      Map<String, HostTensor> constants,
      Map<String, String> residents,
      List<Step> steps,
      Map<String, String> outputs,
      Map<String, Kept> states) {
    public Members {
      inputs = List.copyOf(inputs);
      constants = inOrder(constants);
      residents = inOrder(residents);
      steps = List.copyOf(steps);
      outputs = inOrder(outputs);
      states = inOrder(states);
    }
  }

  /**
   * What a step reads.
   *
   * @param name of an input, a state, a weight or an earlier step's output
   * @param shape in which it is read, of as many elements; an extent of -1 is inferred; null for
   *     its own
   */
  public record Source(String name, @Nullable List<Long> shape) {}

  /**
   * One op.
   *
   * @param inputs by input name of the op
   * @param outputs the names given to outputs, by output name of the op
   */
  public record Step(
      String op,
      Map<String, Source> inputs,
      Map<String, ?> attributes,
      Map<String, String> outputs) {
    public Step {
      inputs = inOrder(inputs);
      outputs = inOrder(outputs);
    }
  }

  /**
   * A tensor that a session keeps between calls.
   *
   * @param next the name of a step's output, which the next call reads
   */
  public record Kept(TensorType type, String next) {}

  private final Members members;
  private final List<HostTensor> weights;

  /**
   * Creates a model.
   *
   * @throws ModelException.Malformed if names do not suit each other
   * @throws ModelException.InvalidStep if a step has an attribute or a name that its op does not
   */
  public PipelineModel(Members members) {
    this.members = members;
    var read = new Names().read();
    weights =
        members.constants.entrySet().stream()
            .filter(each -> read.contains(each.getKey()))
            .map(Map.Entry::getValue)
            .toList();
  }

  private static <T> Map<String, T> inOrder(Map<String, T> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }

  private static String field(int step) {
    return "steps[%d]".formatted(step);
  }

  /** Checks the names of a graph. */
  private final class Names {
    private final Map<String, String> given = new LinkedHashMap<>();
    private final Set<String> computed = new LinkedHashSet<>();
    private final Set<String> read = new HashSet<>();

    /** Returns the names that steps read. */
    Set<String> read() {
      members.inputs.forEach(input -> give("inputs.", input.name()));
      members.residents.keySet().forEach(name -> give("weights.", name));
      members.states.keySet().forEach(name -> give("state.", name));
      for (int i = 0; i < members.steps.size(); i++) {
        check(members.steps.get(i), i);
      }
      given.forEach((name, field) -> {
        if (!read.contains(name)) {
          throw malformed(field, "is not read by any step; remove it");
        }
      });
      if (members.outputs.isEmpty()) {
        throw malformed("outputs", "is empty; name at least one output of a step");
      }
      members.outputs.forEach((name, from) -> requireComputed("outputs." + name, from));
      members.states.forEach((name, state) -> {
        requireComputed("state.%s.next".formatted(name), state.next);
        if (members.outputs.containsKey(name + NEXT)) {
          throw malformed("outputs.%s%s".formatted(name, NEXT), "has the name of a state's output");
        }
      });
      return read;
    }

    private void give(String path, String name) {
      if (given.put(name, path + name) != null) {
        throw taken(path + name, name);
      }
    }

    private static ModelException taken(String field, String name) {
      return malformed(field, "has the name \"%s\", which another tensor has".formatted(name));
    }

    private void check(Step step, int index) {
      var op = Ops.find(step.op).description();
      inStep(index, step, () -> requireKnown(op, step));
      step.inputs.forEach((input, source) -> {
        var name = source.name;
        if (!given.containsKey(name)
            && !computed.contains(name)
            && !members.constants.containsKey(name)) {
          throw malformed(
              "%s.inputs.%s".formatted(field(index), input),
              "is \"%s\", which is neither an input, a state or a weight, nor an output of an earlier step"
                  .formatted(name));
        }
        read.add(name);
      });
      step.outputs.forEach((output, name) -> {
        if (given.containsKey(name) || members.constants.containsKey(name) || !computed.add(name)) {
          throw taken("%s.outputs.%s".formatted(field(index), output), name);
        }
      });
    }

    private static Attributes requireKnown(OpDescription op, Step step) {
      var named = op.byName(step.inputs).keySet();
      for (var input : op.inputs()) {
        if (!input.optional() && !named.contains(input.name())) {
          throw new OpException.MissingInput(
              input.name(), "input \"%s\" of %s is missing".formatted(input.name(), step.op));
        }
      }
      for (var name : named) {
        if (op.input(name).isEmpty()) {
          throw new OpException.UnknownField(
              "inputs." + name, "%s has no input \"%s\"".formatted(step.op, name));
        }
      }
      for (var name : step.outputs.keySet()) {
        if (op.output(name).isEmpty()) {
          throw new OpException.UnknownField(
              "outputs." + name, "%s has no output \"%s\"".formatted(step.op, name));
        }
      }
      return Attributes.of(op, step.attributes);
    }

    private void requireComputed(String field, String name) {
      if (!computed.contains(name)) {
        throw malformed(
            field,
            "is \"%s\", which is not an output of any step; step outputs are: %s"
                .formatted(name, String.join(", ", computed)));
      }
    }
  }

  private static ModelException malformed(String field, String rest) {
    return new ModelException.Malformed(field, field + " " + rest);
  }

  private static ModelException unsuited(String field, String rest) {
    return new ModelException.InvalidInput(field, field + " " + rest);
  }

  private interface Work<T> {
    T run();
  }

  private static <T> T inStep(int index, Step step, Work<T> work) {
    try {
      return work.run();
    } catch (OpException e) {
      throw new ModelException.InvalidStep(index, step.op, e);
    }
  }

  @Override
  public List<Input> inputs() {
    return members.inputs;
  }

  @Override
  public List<String> outputs() {
    return List.copyOf(members.outputs.keySet());
  }

  @Override
  public List<State> states() {
    var states = new ArrayList<State>();
    members.states.forEach(
        (name, state) -> states.add(new State.Carried(name, name + NEXT, state.type)));
    return states;
  }

  @Override
  public Map<String, String> residents() {
    return members.residents;
  }

  /** Returns the constants that steps read. */
  @Override
  public Collection<HostTensor> weights() {
    return weights;
  }

  private List<Input> inputsOfSession() {
    var all = new ArrayList<>(members.inputs);
    members.states.forEach((name, state) -> {
      var extents = state.type.shape().extents().stream().map(String::valueOf).toList();
      all.add(new Input(name, state.type.dtype(), extents));
    });
    return all;
  }

  @Override
  public Graph graph(Map<String, TensorType> types, Set<String> outputs) {
    boolean ofSession = members.states.keySet().stream().anyMatch(types::containsKey);
    var given = new LinkedHashMap<>(types);
    given.keySet().removeAll(members.residents.keySet());
    ModelDefinition.check(ofSession ? inputsOfSession() : members.inputs, given);
    return new Build(types).graph(outputs);
  }

  /** Returns the graph as it is: a client that wants another kernel writes another step. */
  @Override
  public Graph fused(Map<String, TensorType> types, Set<String> outputs) {
    return graph(types, outputs);
  }

  /** Builds the graph for inputs of some types. */
  private final class Build {
    private final GraphBuilder graph = new GraphBuilder();
    private final Map<String, Value> values = new HashMap<>();

    Build(Map<String, TensorType> types) {
      types.forEach((name, type) -> values.put(name, graph.input(name, type)));
      members.states.forEach((name, state) ->
          values.computeIfAbsent(name, _ -> graph.constant(HostTensor.zeros(state.type))));
      members.constants.forEach((name, tensor) -> values.put(name, graph.constant(tensor)));
    }

    Graph graph(Set<String> wanted) {
      for (int i = 0; i < members.steps.size(); i++) {
        add(members.steps.get(i), i);
      }
      var results = new LinkedHashMap<String, Value>();
      members.outputs.forEach((name, from) -> results.put(name, value(from)));
      members.states.forEach((name, state) -> {
        var next = value(state.next);
        if (!next.type().equals(state.type)) {
          throw unsuited(
              "state.%s.next".formatted(name),
              "is %s, but the state is %s; both must have the same type"
                  .formatted(next.type(), state.type));
        }
        results.put(name + NEXT, next);
      });
      results.keySet().retainAll(wanted);
      return graph.build(results);
    }

    private Value value(String name) {
      return Objects.requireNonNull(values.get(name), name);
    }

    private void add(Step step, int index) {
      var inputs = new LinkedHashMap<String, Value>();
      Ops.find(step.op)
          .description()
          .byName(step.inputs)
          .forEach((input, source) -> inputs.put(input, read(source, input, index)));
      var computed = inStep(index, step, () -> graph.run(step.op, inputs, step.attributes));
      step.outputs.forEach((output, name) -> {
        var value = computed.get(output);
        if (value == null) {
          throw malformed(
              "%s.outputs.%s".formatted(field(index), output),
              "is not computed by %s with these attributes".formatted(step.op));
        }
        values.put(name, value);
      });
    }

    private Value read(Source source, String input, int index) {
      var value = value(source.name);
      if (source.shape == null) {
        return value;
      }
      var field = "%s.inputs.%s.shape".formatted(field(index), input);
      if (value.dtype().isBlock()) {
        throw unsuited(field, "is given for a tensor of blocks; read it in its own shape");
      }
      try {
        return value.reshape(source.shape);
      } catch (IllegalArgumentException e) {
        throw unsuited(field, "does not suit the tensor: " + e.getMessage());
      }
    }
  }
}
