package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelException;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What differs between encoders.
 *
 * @param inner elements between the products of a layer
 * @param kinds of tokens; 0 if the model does not tell them apart
 * @param positions rows of the table of positions
 * @param padding the token whose positions are not counted; empty if all are counted from 0
 * @param activation that of the op matmul
 * @param pools whether the checkpoint has a layer for the first token
 */
record EncoderConfig(
    Names names,
    long vocabulary,
    long hidden,
    long inner,
    int layers,
    long heads,
    long kinds,
    long positions,
    Optional<Long> padding,
    double epsilon,
    String activation,
    boolean pools) {

  private static final Set<String> ROBERTA = Set.of("roberta", "xlm-roberta", "camembert");

  static final Set<String> TYPES =
      Set.of("bert", "distilbert", "roberta", "xlm-roberta", "camembert");

  /** The names of members and tensors. Names of tensors in a layer follow {@code layer}. */
  enum Names {
    BERT(
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "hidden_act",
        "encoder.layer.%d.",
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "attention.output.LayerNorm",
        "intermediate.dense",
        "output.dense",
        "output.LayerNorm"),
    DISTILBERT(
        "dim",
        "hidden_dim",
        "n_layers",
        "n_heads",
        "activation",
        "transformer.layer.%d.",
        "attention.q_lin",
        "attention.k_lin",
        "attention.v_lin",
        "attention.out_lin",
        "sa_layer_norm",
        "ffn.lin1",
        "ffn.lin2",
        "output_layer_norm");

    private final String hidden;
    private final String inner;
    private final String layers;
    private final String heads;
    private final String activation;
    private final String layer;
    final String query;
    final String key;
    final String value;
    final String out;
    final String attentionNorm;
    final String up;
    final String down;
    final String outputNorm;

    Names(
        String hidden,
        String inner,
        String layers,
        String heads,
        String activation,
        String layer,
        String query,
        String key,
        String value,
        String out,
        String attentionNorm,
        String up,
        String down,
        String outputNorm) {
      this.hidden = hidden;
      this.inner = inner;
      this.layers = layers;
      this.heads = heads;
      this.activation = activation;
      this.layer = layer;
      this.query = query;
      this.key = key;
      this.value = value;
      this.out = out;
      this.attentionNorm = attentionNorm;
      this.up = up;
      this.down = down;
      this.outputNorm = outputNorm;
    }

    String layer(int index) {
      return layer.formatted(index);
    }
  }

  static EncoderConfig of(String type, Config config, Map<String, HostTensor> tensors) {
    if (config.flag("is_decoder", false)) {
      throw config.unsupported("is_decoder", "encoders");
    }
    if (!config.text("position_embedding_type", "absolute").equals("absolute")) {
      throw config.unsupported("position_embedding_type", "absolute");
    }
    var names = type.equals("distilbert") ? Names.DISTILBERT : Names.BERT;
    long hidden = config.size(names.hidden);
    long heads = config.size(names.heads);
    if (hidden % heads != 0) {
      throw new ModelException.Malformed(
          "`%s` is %d, which is not a multiple of `%s`, %d"
              .formatted(names.hidden, hidden, names.heads, heads));
    }
    return new EncoderConfig(
        names,
        config.size("vocab_size"),
        hidden,
        config.size(names.inner),
        config.layers(names.layers, tensors.size()),
        heads,
        names == Names.BERT ? config.optionalSize("type_vocab_size").orElse(2L) : 0,
        config.size("max_position_embeddings"),
        ROBERTA.contains(type) ? Optional.of(config.index("pad_token_id", 1)) : Optional.empty(),
        config.number("layer_norm_eps", 1e-12),
        activation(names.activation, config),
        names == Names.BERT && tensors.containsKey("pooler.dense.weight"));
  }

  private static String activation(String member, Config config) {
    return switch (config.text(member, "gelu")) {
      case "gelu" -> "gelu";
      case "gelu_new", "gelu_pytorch_tanh" -> "gelu-tanh";
      case "relu" -> "relu";
      case "silu", "swish" -> "silu";
      default ->
          throw config.unsupported(member, "gelu, gelu_new, gelu_pytorch_tanh, relu and silu");
    };
  }

  /** Returns the maximum number of tokens of a sequence. */
  long tokens() {
    return positions - padding.map(token -> token + 1).orElse(0L);
  }

  /** Returns the shapes of the tensors of a checkpoint. */
  Map<String, Shape> shapes() {
    var shapes = new LinkedHashMap<String, Shape>();
    shapes.put("embeddings.word_embeddings.weight", Shape.of(vocabulary, hidden));
    shapes.put("embeddings.position_embeddings.weight", Shape.of(positions, hidden));
    if (kinds > 0) {
      shapes.put("embeddings.token_type_embeddings.weight", Shape.of(kinds, hidden));
    }
    addNorm("embeddings.LayerNorm", shapes);
    for (int i = 0; i < layers; i++) {
      var layer = names.layer(i);
      for (var name : List.of(names.query, names.key, names.value, names.out)) {
        addLinear(layer + name, hidden, hidden, shapes);
      }
      addNorm(layer + names.attentionNorm, shapes);
      addLinear(layer + names.up, inner, hidden, shapes);
      addLinear(layer + names.down, hidden, inner, shapes);
      addNorm(layer + names.outputNorm, shapes);
    }
    if (pools) {
      addLinear("pooler.dense", hidden, hidden, shapes);
    }
    return shapes;
  }

  private static void addLinear(String name, long rows, long columns, Map<String, Shape> shapes) {
    shapes.put(name + ".weight", Shape.of(rows, columns));
    shapes.put(name + ".bias", Shape.of(rows));
  }

  private void addNorm(String name, Map<String, Shape> shapes) {
    shapes.put(name + ".weight", Shape.of(hidden));
    shapes.put(name + ".bias", Shape.of(hidden));
  }
}
