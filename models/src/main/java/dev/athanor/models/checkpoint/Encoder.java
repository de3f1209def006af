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

/** An encoder of the kind of BERT: learned positions, norms after layers. */
final class Encoder implements ModelDefinition {

  private static final Pattern PART =
      Pattern.compile("(embeddings|encoder|transformer|pooler)\\..*");

  private static final String TOKENS = "input_ids";
  private static final String MASK = "attention_mask";
  private static final String KINDS = "token_type_ids";
  private static final String HIDDEN = "last_hidden_state";
  private static final String POOLED = "pooler_output";

  private final EncoderConfig config;
  private final Map<String, HostTensor> tensors;

  Encoder(String type, Config members, Map<String, HostTensor> given) {
    var named = named(given);
    this.config = EncoderConfig.of(type, members, named);
    this.tensors = Tensors.read(named, config.shapes(), PART);
  }

  /**
   * Returns the tensors by their names in the encoder: without a prefix, which those of models with
   * a head have, and with the names of parameters of later versions of transformers.
   */
  private static Map<String, HostTensor> named(Map<String, HostTensor> given) {
    var word = "embeddings.word_embeddings.weight";
    var prefix =
        given.keySet().stream()
            .filter(name -> name.endsWith("." + word))
            .map(name -> name.substring(0, name.length() - word.length()))
            .findFirst()
            .orElse("");
    var named = new LinkedHashMap<String, HostTensor>();
    given.forEach((name, tensor) -> {
      if (name.startsWith(prefix)) {
        var own = name.substring(prefix.length());
        named.put(
            own.replace("LayerNorm.gamma", "LayerNorm.weight")
                .replace("LayerNorm.beta", "LayerNorm.bias"),
            tensor);
      }
    });
    return named;
  }

  @Override
  public List<Input> inputs() {
    var extents = List.of("batch", "sequence");
    var inputs = new ArrayList<Input>();
    inputs.add(new Input(TOKENS, DType.I64, extents));
    inputs.add(new Input(MASK, DType.I64, extents));
    if (config.kinds() > 1) {
      inputs.add(new Input(KINDS, DType.I64, extents));
    }
    return inputs;
  }

  @Override
  public List<String> outputs() {
    return config.pools() ? List.of(HIDDEN, POOLED) : List.of(HIDDEN);
  }

  @Override
  public Optional<Input> declared(String output) {
    var dtype = tensors.values().iterator().next().type().dtype();
    var size = Long.toString(config.hidden());
    return switch (output) {
      case HIDDEN -> Optional.of(new Input(output, dtype, List.of("batch", "sequence", size)));
      case POOLED -> Optional.of(new Input(output, dtype, List.of("batch", size)));
      default -> Optional.empty();
    };
  }

  @Override
  public Collection<HostTensor> weights() {
    return Collections.unmodifiableCollection(tensors.values());
  }

  @Override
  public Graph graph(Map<String, TensorType> types, Set<String> outputs) {
    ModelDefinition.check(inputs(), types);
    Steps.requireTokens(TOKENS, types, config.tokens());
    var graph = new GraphBuilder();
    var values = Steps.inputs(graph, inputs(), types);
    var all = new Call(new Steps(graph, tensors), values).results();
    all.keySet().retainAll(outputs);
    return graph.build(all);
  }

  /** The steps of a call. */
  private final class Call {
    private final Steps steps;
    private final Map<String, Value> inputs;
    private final long batch;
    private final long sequence;
    private final EncoderConfig.Names names = config.names();

    Call(Steps steps, Map<String, Value> inputs) {
      this.steps = steps;
      this.inputs = inputs;
      this.batch = input(TOKENS).extent(0);
      this.sequence = input(TOKENS).extent(1);
    }

    private Value input(String name) {
      return Objects.requireNonNull(inputs.get(name), name);
    }

    Map<String, Value> results() {
      var x = embedded();
      var mask = steps.map("x != 0", input(MASK)).reshape(batch, 1, 1, sequence);
      for (int i = 0; i < config.layers(); i++) {
        var layer = names.layer(i);
        var y = sum(attention(layer, x, mask), x, layer + names.attentionNorm);
        var activated = Map.of("activation", config.activation());
        var inner = steps.linear(y, layer + names.up, activated);
        var down = steps.linear(inner, layer + names.down);
        x = sum(down, y, layer + names.outputNorm);
      }
      var results = new LinkedHashMap<String, Value>();
      results.put(HIDDEN, x);
      if (config.pools()) {
        var first = steps.position(x, 0);
        results.put(POOLED, steps.map("tanh(x)", steps.linear(first, "pooler.dense")));
      }
      return results;
    }

    private Value embedded() {
      var terms = new LinkedHashMap<String, Value>();
      terms.put("x0", rows("word", input(TOKENS)));
      terms.put("x1", rows("position", positions()));
      if (config.kinds() > 0) {
        var kinds =
            config.kinds() > 1
                ? rows("token_type", input(KINDS))
                : steps.weight("embeddings.token_type_embeddings.weight");
        terms.put("x2", kinds);
      }
      var sum = steps.one("map", terms, Map.of("expression", String.join(" + ", terms.keySet())));
      return steps.one("layer-norm", norm(sum, "embeddings.LayerNorm"), epsilon());
    }

    private Value rows(String table, Value index) {
      var weight = steps.weight("embeddings." + table + "_embeddings.weight");
      return steps.one("gather", Map.of("table", weight, "index", index), Map.of());
    }

    /** Returns the rows of the table of positions: [sequence], or [batch, sequence]. */
    private Value positions() {
      if (config.padding().isEmpty()) {
        return steps.range(0, sequence);
      }
      long padding = config.padding().get();
      var tokens = input(TOKENS);
      var counted = steps.map("i32(x != %d)".formatted(padding), tokens);
      var count = steps.one("cumsum", Map.of("x", counted), Map.of());
      return steps.one(
          "map",
          Map.of("x0", count, "x1", counted),
          Map.of("expression", "x0 * x1 + %d".formatted(padding)));
    }

    private Value attention(String layer, Value x, Value mask) {
      var given =
          Map.of(
              "q", heads(x, layer + names.query),
              "k", heads(x, layer + names.key),
              "v", heads(x, layer + names.value),
              "mask", mask);
      var out = steps.exchanged(steps.one("attention", given, Map.of()));
      return steps.linear(out.reshape(batch, sequence, config.hidden()), layer + names.out);
    }

    private Value heads(Value x, String name) {
      return steps.exchanged(steps.linear(x, name).reshape(batch, sequence, config.heads(), -1));
    }

    private Map<String, Value> norm(Value x, String name) {
      return Map.of(
          "x", x, "gamma", steps.weight(name + ".weight"), "beta", steps.weight(name + ".bias"));
    }

    private Map<String, Double> epsilon() {
      return Map.of("epsilon", config.epsilon());
    }

    /** Returns the norm of a sum. */
    private Value sum(Value x, Value residual, String name) {
      var inputs = new LinkedHashMap<>(norm(x, name));
      inputs.put("residual", residual);
      return steps.one("residual-layer-norm", inputs, epsilon());
    }
  }
}
