package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A decoder of the kind of Mamba-2 (Dao and Gu, "Transformers are SSMs", 2024). With the time step
 * {@code dt}, a layer is linear attention whose values are {@code dt · x}, whose keys and queries
 * are B and C, and whose decay is {@code exp(dt · A)}.
 */
final class Mamba implements ModelDefinition {

  private static final Pattern PART = Pattern.compile("(backbone|lm_head)\\..*");

  private static final String TOKENS = "tokens";

  private final MambaConfig config;
  private final Map<String, HostTensor> tensors;
  private final DType dtype;

  Mamba(MambaConfig config, Map<String, HostTensor> given) {
    this.config = config;
    this.tensors = Tensors.read(given, config.shapes(), PART);
    this.dtype = Objects.requireNonNull(tensors.get("backbone.embeddings.weight")).type().dtype();
  }

  @Override
  public List<Input> inputs() {
    return List.of(new Input(TOKENS, DType.I64, List.of("batch", "sequence")));
  }

  @Override
  public List<String> outputs() {
    return Steps.LOGITS_OUTPUTS;
  }

  @Override
  public Optional<Input> declared(String output) {
    return Steps.declared(output, config.vocabulary());
  }

  @Override
  public List<State> states() {
    var states = new ArrayList<State>();
    for (int i = 0; i < config.layers(); i++) {
      states.add(convolution(i));
      states.add(recurrence(i));
    }
    return states;
  }

  private State.Carried convolution(int layer) {
    return state(
        "layers.%d.convolution".formatted(layer),
        TensorType.of(dtype, 1, config.channels(), config.taps() - 1));
  }

  private State.Carried recurrence(int layer) {
    return state(
        "layers.%d.recurrence".formatted(layer),
        TensorType.of(DType.F32, 1, config.heads(), config.state(), config.size()));
  }

  private static State.Carried state(String name, TensorType type) {
    return new State.Carried(name, name + ".next", type);
  }

  @Override
  public Collection<HostTensor> weights() {
    return Collections.unmodifiableCollection(tensors.values());
  }

  private List<Input> inputsOfSession() {
    var all = new ArrayList<>(inputs());
    for (var state : states()) {
      var type = ((State.Carried) state).initial();
      var extents = new ArrayList<String>();
      extents.add("batch");
      type.shape().extents().stream().skip(1).forEach(extent -> extents.add("" + extent));
      all.add(new Input(state.input(), type.dtype(), extents));
    }
    return all;
  }

  @Override
  public Graph graph(Map<String, TensorType> types, Set<String> outputs) {
    boolean ofSession = states().stream().anyMatch(state -> types.containsKey(state.input()));
    var expected = ofSession ? inputsOfSession() : inputs();
    ModelDefinition.check(expected, types);
    Steps.requireTokens(TOKENS, types, Integer.MAX_VALUE);
    var graph = new GraphBuilder();
    var values = Steps.inputs(graph, expected, types);
    var results = new Call(new Steps(graph, tensors), values).results(outputs);
    results.keySet().retainAll(outputs);
    return graph.build(results);
  }

  /** The steps of a call. */
  private final class Call {
    private final Steps steps;
    private final Map<String, Value> inputs;
    private final long batch;
    private final long sequence;
    private final Map<String, Value> results = new LinkedHashMap<>();

    Call(Steps steps, Map<String, Value> inputs) {
      this.steps = steps;
      this.inputs = inputs;
      var tokens = Objects.requireNonNull(inputs.get(TOKENS));
      this.batch = tokens.extent(0);
      this.sequence = tokens.extent(1);
    }

    Map<String, Value> results(Set<String> outputs) {
      var index = Objects.requireNonNull(inputs.get(TOKENS));
      var table = steps.weight("backbone.embeddings.weight");
      var x = steps.one("gather", Map.of("table", table, "index", index), Map.of());
      var y = steps.norm(x, MambaConfig.layer(0) + "norm", config.epsilon());
      for (int i = 0; i < config.layers(); i++) {
        boolean last = i + 1 == config.layers();
        var after = last ? "backbone.norm_f" : MambaConfig.layer(i + 1) + "norm";
        var both = steps.sum(mixed(i, y), x, after, config.epsilon());
        x = Objects.requireNonNull(both.get("sum"));
        y = Objects.requireNonNull(both.get("y"));
      }
      var matrix = config.tied() ? "backbone.embeddings" : "lm_head";
      results.putAll(steps.logits(y, matrix, 1, outputs));
      return results;
    }

    private Value mixed(int index, Value y) {
      var mixer = MambaConfig.layer(index) + "mixer.";
      var parts =
          split(
              steps.linear(y, mixer + "in_proj"),
              List.of(config.inner(), config.channels(), config.heads()));
      var convolved = convolved(index, mixer, parts.get(1));
      var heads = split(convolved, List.of(config.inner(), config.keys(), config.keys()));
      var x = heads.get(0).reshape(batch, sequence, config.heads(), config.size());
      var step = timeStep(mixer, parts.get(2));
      var given = new LinkedHashMap<String, Value>();
      given.put("q", grouped(heads.get(2)));
      given.put("k", grouped(heads.get(1)));
      given.put("v", map("x0 * x1", dtype, x, step.reshape(batch, sequence, -1, 1)));
      given.put("decay", map("-exp(x0) * x1", DType.F32, steps.weight(mixer + "A_log"), step));
      var out = carried(recurrence(index), "linear-attention", given, Map.of("scale", 1.0));
      var direct = steps.weight(mixer + "D").reshape(config.heads(), 1);
      var gate = parts.get(0).reshape(x.shape().extents());
      var gated = map("(x0 + x1 * x2) * silu(x3)", dtype, out, direct, x, gate);
      var normal =
          steps.norm(
              gated.reshape(batch, sequence, config.inner()), mixer + "norm", config.epsilon());
      return steps.linear(normal, mixer + "out_proj");
    }

    /** Splits the last dimension. */
    private List<Value> split(Value x, List<Long> sizes) {
      var attributes = Map.of("axis", -1L, "sizes", sizes);
      return List.copyOf(steps.run("split", Map.of("x", x), attributes).values());
    }

    private Value convolved(int index, String mixer, Value x) {
      var given = new LinkedHashMap<String, Value>();
      given.put("x", swapped(x));
      given.put(
          "weight",
          steps.weight(mixer + "conv1d.weight").reshape(config.channels(), config.taps()));
      if (config.convolutionBias()) {
        given.put("bias", steps.weight(mixer + "conv1d.bias"));
      }
      var attributes = Map.of("activation", "silu");
      return swapped(carried(convolution(index), "causal-convolution", given, attributes));
    }

    /** Exchanges the last two dimensions. */
    private Value swapped(Value x) {
      return x.extent(1) == 1 || x.extent(2) == 1
          ? x.reshape(batch, x.extent(2), x.extent(1))
          : steps.one("permute", Map.of("x", x), Map.of("axes", List.of(0L, 2L, 1L)));
    }

    /** Runs an op with the state of a session, if there is one; returns its first output. */
    private Value carried(
        State state, String op, Map<String, Value> given, Map<String, ?> attributes) {
      var all = new LinkedHashMap<>(given);
      var before = inputs.get(state.input());
      if (before != null) {
        all.put("state", before);
      }
      var outputs = steps.run(op, all, attributes);
      results.put(state.output(), Objects.requireNonNull(outputs.get("next")));
      return outputs.values().iterator().next();
    }

    private Value timeStep(String mixer, Value projected) {
      return map("softplus(f32(x0) + x1)", DType.F32, projected, steps.weight(mixer + "dt_bias"));
    }

    private Value grouped(Value x) {
      return x.reshape(batch, sequence, config.groups(), config.state());
    }

    private Value map(String expression, DType to, Value... x) {
      var given = new LinkedHashMap<String, Value>();
      for (int i = 0; i < x.length; i++) {
        given.put("x" + i, x[i]);
      }
      return steps.one("map", given, Map.of("expression", expression, "outDtype", to.text()));
    }
  }
}
