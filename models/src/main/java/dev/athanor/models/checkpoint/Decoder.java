package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
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

/** A decoder of the kind of Llama: rotary positions, norms before layers, a gated unit. */
final class Decoder implements ModelDefinition {

  private static final Pattern PART = Pattern.compile("(model|lm_head)\\..*");

  private static final String TOKENS = "tokens";

  private final DecoderConfig config;
  private final Map<String, HostTensor> tensors;
  private final DType dtype;

  Decoder(DecoderConfig config, Map<String, HostTensor> tensors) {
    this.config = config;
    this.tensors = config.unified(Tensors.read(tensors, config.shapes(), PART));
    this.dtype = embeddings().type().dtype();
  }

  private HostTensor embeddings() {
    return Objects.requireNonNull(tensors.get("model.embed_tokens.weight"));
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
      states.add(state(i, "keys"));
      states.add(state(i, "values"));
    }
    return states;
  }

  private State state(int layer, String kind) {
    var name = "layers.%d.%s".formatted(layer, kind);
    return new State.Cached(name, name + ".next", dtype, config.groups(), config.size());
  }

  @Override
  public Collection<HostTensor> weights() {
    return Collections.unmodifiableCollection(tensors.values());
  }

  @Override
  public int maxPositions() {
    return (int) Math.min(config.rope().positions(), Integer.MAX_VALUE);
  }

  private List<Input> inputsOfSession() {
    var all = new ArrayList<>(inputs());
    all.add(new Input(LENGTHS, DType.I32, List.of("batch")));
    all.add(new Input(BLOCK_TABLE, DType.I32, List.of("batch", "blocksOfSequence")));
    var extents =
        List.of("blocks", Long.toString(config.groups()), "blockSize", "" + config.size());
    states().forEach(state -> all.add(new Input(state.input(), dtype, extents)));
    return all;
  }

  @Override
  public Graph graph(Map<String, TensorType> types, Set<String> outputs) {
    var expected = types.containsKey(LENGTHS) ? inputsOfSession() : inputs();
    ModelDefinition.check(expected, types);
    Steps.requireTokens(TOKENS, types, config.rope().positions());
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
    private final boolean ofSession;
    private final long batch;
    private final long sequence;
    private final Map<String, Value> tables = new LinkedHashMap<>();
    private final Map<String, Value> results = new LinkedHashMap<>();

    Call(Steps steps, Map<String, Value> inputs) {
      this.steps = steps;
      this.inputs = inputs;
      this.ofSession = inputs.containsKey(LENGTHS);
      this.batch = input(TOKENS).extent(0);
      this.sequence = input(TOKENS).extent(1);
      long positions = sequence;
      if (ofSession) {
        var pool = input(states().getFirst().input());
        positions = Math.max(sequence, input(BLOCK_TABLE).extent(1) * pool.extent(2));
        tables.put("positions", positions());
      }
      var rope = config.rope().tables(positions);
      tables.put("cos", steps.constant(rope.cos()));
      tables.put("sin", steps.constant(rope.sin()));
    }

    private Value input(String name) {
      return Objects.requireNonNull(inputs.get(name), name);
    }

    /** Returns the positions of tokens; 0 for those before the first of a sequence. */
    private Value positions() {
      return steps.one(
          "map",
          Map.of(
              "x0", input(LENGTHS).reshape(batch, 1),
              "x1", steps.range(-sequence, 0)),
          Map.of("expression", "max(x0 + x1, 0)"));
    }

    private HostTensor factor(double number) {
      try {
        return HostTensor.of(TensorType.of(dtype, 1), number);
      } catch (IllegalArgumentException e) {
        throw new ModelException.Malformed("the factor of the embeddings: " + e.getMessage());
      }
    }

    Map<String, Value> results(Set<String> outputs) {
      var x =
          steps.one(
              "gather",
              Map.of(
                  "table", steps.weight("model.embed_tokens.weight"),
                  "index", input(TOKENS)),
              Map.of());
      if (config.scales().embeddings() != 1) {
        // transformers rounds the factor
        var factor = factor(config.scales().embeddings());
        x =
            steps.one(
                "map",
                Map.of("x0", x),
                Map.of("expression", "x * c0", "constants", List.of(factor.get(0))));
      }
      var y = norm(x, DecoderConfig.layer(0) + "input_layernorm");
      for (int i = 0; i < config.layers(); i++) {
        var layer = DecoderConfig.layer(i);
        var attended = sum(attention(i, y), x, layer + "post_attention_layernorm");
        boolean last = i + 1 == config.layers();
        var after = last ? "model.norm" : DecoderConfig.layer(i + 1) + "input_layernorm";
        var next = sum(unit(layer + "mlp.", get(attended, "y")), get(attended, "sum"), after);
        x = get(next, "sum");
        y = get(next, "y");
      }
      var matrix = config.tied() ? "model.embed_tokens" : "lm_head";
      results.putAll(steps.logits(y, matrix, config.scales().logits(), outputs));
      return results;
    }

    private Value norm(Value x, String name) {
      return steps.norm(x, name, config.epsilon());
    }

    private Map<String, Value> sum(Value x, Value residual, String name) {
      return steps.sum(x, residual, name, config.epsilon());
    }

    private static Value get(Map<String, Value> outputs, String name) {
      return Objects.requireNonNull(outputs.get(name), name);
    }

    private Value unit(String layer, Value y) {
      var gate = steps.linear(y, layer + "gate_proj");
      var up = steps.linear(y, layer + "up_proj");
      var both = Map.of("gate", gate, "up", up);
      var inner = steps.one(config.gate().op(), both, config.gate().attributes());
      return added(inner, layer + "down_proj");
    }

    private Value added(Value x, String name) {
      return steps.linear(x, name, Map.of("alpha", config.scales().added()));
    }

    private Value attention(int index, Value y) {
      var layer = DecoderConfig.layer(index) + "self_attn.";
      var q = steps.exchanged(rotated(heads(y, layer, "q"), layer + "q_norm"));
      var k = steps.exchanged(rotated(heads(y, layer, "k"), layer + "k_norm"));
      var v = steps.exchanged(heads(y, layer, "v"));
      var attributes = new LinkedHashMap<String, Object>();
      attributes.put("scale", config.scales().scores());
      attributes.put("window", config.windows().get(index));
      var out = ofSession ? decoded(index, q, k, v, attributes) : causal(q, k, v, attributes);
      var rows = steps.exchanged(out).reshape(batch, sequence, config.heads() * config.size());
      return added(rows, layer + "o_proj");
    }

    private Value causal(Value q, Value k, Value v, Map<String, Object> attributes) {
      attributes.put("causal", true);
      return steps.one("attention", Map.of("q", q, "k", k, "v", v), attributes);
    }

    private Value decoded(int index, Value q, Value k, Value v, Map<String, Object> attributes) {
      var inputs =
          Map.of(
              "q", q,
              "kCache", appended(state(index, "keys"), k),
              "vCache", appended(state(index, "values"), v),
              "lengths", input(LENGTHS),
              "blockTable", input(BLOCK_TABLE));
      return steps.one("attention-decode", inputs, attributes);
    }

    private Value appended(State state, Value x) {
      var inputs =
          Map.of(
              "cache", input(state.input()),
              "x", x,
              "lengths", input(LENGTHS),
              "blockTable", input(BLOCK_TABLE));
      var cache = steps.one("cache-append", inputs, Map.of());
      results.put(state.output(), cache);
      return cache;
    }

    /** Returns [batch, sequence, heads, size]. */
    private Value heads(Value y, String layer, String kind) {
      return steps.linear(y, layer + kind + "_proj").reshape(batch, sequence, -1, config.size());
    }

    private Value rotated(Value heads, String norm) {
      var x = config.normalizesHeads() ? norm(heads, norm) : heads;
      var inputs = new LinkedHashMap<>(tables);
      inputs.put("x", x);
      return steps.one(
          "rope", inputs, Map.of("rotaryDim", 2L * config.rope().frequencies().size()));
    }
  }
}
