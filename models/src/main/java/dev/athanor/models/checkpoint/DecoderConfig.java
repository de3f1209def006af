package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelException;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * What differs between decoders.
 *
 * @param inner elements between the products of a layer
 * @param groups heads of keys and values
 * @param size elements of a head
 * @param windows the sliding window of each layer; 0 for none
 * @param gate the op of the gated unit, and its attributes
 * @param scales factors of the embeddings, of what layers add, of attention scores and of logits
 * @param biased the projections with a bias
 * @param tied whether the embeddings are also the matrix of the logits
 */
record DecoderConfig(
    String type,
    long vocabulary,
    long hidden,
    long inner,
    int layers,
    long heads,
    long groups,
    long size,
    double epsilon,
    List<Long> windows,
    Gate gate,
    Scales scales,
    Set<String> biased,
    boolean tied,
    Rope rope) {

  static final Set<String> TYPES =
      Set.of("llama", "mistral", "qwen2", "qwen3", "gemma", "granite", "phi3");

  private static final Set<String> PROJECTIONS =
      Set.of("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj");

  /** A product of a layer. */
  record Part(String name, long rows) {
    String weight() {
      return name + ".weight";
    }
  }

  record Gate(String op, Map<String, String> attributes) {}

  record Scales(double embeddings, double added, double scores, double logits) {}

  static DecoderConfig of(String type, Config config, int tensors) {
    long heads = config.size("num_attention_heads");
    long groups = config.optionalSize("num_key_value_heads").orElse(heads);
    long hidden = config.size("hidden_size");
    long size = config.optionalSize("head_dim").orElse(hidden / heads);
    if (heads % groups != 0) {
      throw new ModelException.Malformed(
          "`num_attention_heads` is %d, which is not a multiple of `num_key_value_heads`, %d"
              .formatted(heads, groups));
    }
    int layers = config.layers("num_hidden_layers", tensors);
    return new DecoderConfig(
        type,
        config.size("vocab_size"),
        hidden,
        config.size("intermediate_size"),
        layers,
        heads,
        groups,
        size,
        config.number("rms_norm_eps", 1e-6),
        windows(type, config, layers),
        gate(config),
        scales(type, config, hidden, size),
        biased(type, config),
        config.flag("tie_word_embeddings", type.equals("gemma")),
        Rope.of(config, size));
  }

  private static List<Long> windows(String type, Config config, int layers) {
    long window = config.optionalSize("sliding_window").orElse(0L);
    boolean used = config.flag("use_sliding_window", !type.startsWith("qwen"));
    long first = type.startsWith("qwen") ? config.optionalSize("max_window_layers").orElse(0L) : 0;
    var kinds = config.list("layer_types");
    if (kinds.isEmpty()) {
      return LongStream.range(0, layers).mapToObj(i -> used && i >= first ? window : 0L).toList();
    }
    if (kinds.get().size() != layers) {
      throw new ModelException.Malformed(
          "`layer_types` has %d elements for %d layers".formatted(kinds.get().size(), layers));
    }
    if (!Set.of("full_attention", "sliding_attention").containsAll(kinds.get())) {
      throw config.unsupported("layer_types", "full_attention and sliding_attention");
    }
    return kinds.get().stream().map(kind -> kind.equals("full_attention") ? 0L : window).toList();
  }

  private static Gate gate(Config config) {
    return switch (config.text("hidden_act", "silu")) {
      case "silu" -> new Gate("swiglu", Map.of());
      case "gelu" -> new Gate("geglu", Map.of("form", "erf"));
      case "gelu_pytorch_tanh", "gelu_new" -> new Gate("geglu", Map.of("form", "tanh"));
      default ->
          throw config.unsupported("hidden_act", "silu, gelu, gelu_new and gelu_pytorch_tanh");
    };
  }

  private static Scales scales(String type, Config config, long hidden, long size) {
    double scores = 1 / Math.sqrt((double) size);
    return switch (type) {
      case "gemma" -> new Scales(Math.sqrt((double) hidden), 1, scores, 1);
      case "granite" ->
          new Scales(
              config.number("embedding_multiplier", 1),
              config.number("residual_multiplier", 1),
              config.number("attention_multiplier", 1),
              1 / config.number("logits_scaling", 1));
      default -> new Scales(1, 1, scores, 1);
    };
  }

  private static Set<String> biased(String type, Config config) {
    if (type.equals("qwen2")) {
      return Set.of("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj");
    }
    if (config.flag("mlp_bias", false)) {
      throw config.unsupported("mlp_bias", "products without bias");
    }
    if (!config.flag("attention_bias", false)) {
      return Set.of();
    }
    if (config.number("residual_multiplier", 1) != 1) {
      throw config.unsupported(
          "attention_bias", "products without bias where `residual_multiplier` is not 1");
    }
    return PROJECTIONS;
  }

  /** Returns whether heads of queries and keys are normalized. */
  boolean normalizesHeads() {
    return type.equals("qwen3");
  }

  /** Returns whether the weights of norms are stored as differences from 1. */
  boolean normsAddOne() {
    return type.equals("gemma");
  }

  /** Returns whether the products of the same input are stored as one. */
  boolean isJoined() {
    return type.equals("phi3");
  }

  static String layer(int index) {
    return "model.layers.%d.".formatted(index);
  }

  /** Returns the shapes of the tensors of a checkpoint. */
  Map<String, Shape> shapes() {
    var shapes = new LinkedHashMap<String, Shape>();
    shapes.put("model.embed_tokens.weight", Shape.of(vocabulary, hidden));
    for (int i = 0; i < layers; i++) {
      addLayer(layer(i), shapes);
    }
    shapes.put("model.norm.weight", Shape.of(hidden));
    if (!tied) {
      shapes.put("lm_head.weight", Shape.of(vocabulary, hidden));
    }
    return shapes;
  }

  private void addLayer(String layer, Map<String, Shape> shapes) {
    shapes.put(layer + "input_layernorm.weight", Shape.of(hidden));
    if (isJoined()) {
      shapes.put(
          layer + "self_attn.qkv_proj.weight", Shape.of((heads + 2 * groups) * size, hidden));
      shapes.put(layer + "mlp.gate_up_proj.weight", Shape.of(2 * inner, hidden));
    } else {
      Stream.concat(attention().stream(), gates().stream())
          .forEach(part -> shapes.put(layer + part.weight(), Shape.of(part.rows(), hidden)));
    }
    var out = new Part("self_attn.o_proj", hidden);
    shapes.put(layer + out.weight(), Shape.of(hidden, heads * size));
    Stream.concat(attention().stream(), Stream.of(out))
        .filter(part -> biased.contains(part.name()))
        .forEach(part -> shapes.put(layer + part.name() + ".bias", Shape.of(part.rows())));
    if (normalizesHeads()) {
      shapes.put(layer + "self_attn.q_norm.weight", Shape.of(size));
      shapes.put(layer + "self_attn.k_norm.weight", Shape.of(size));
    }
    shapes.put(layer + "post_attention_layernorm.weight", Shape.of(hidden));
    shapes.put(layer + "mlp.down_proj.weight", Shape.of(hidden, inner));
  }

  /** Returns the rows of the products for queries, keys and values. */
  private List<Part> attention() {
    return List.of(
        new Part("self_attn.q_proj", heads * size),
        new Part("self_attn.k_proj", groups * size),
        new Part("self_attn.v_proj", groups * size));
  }

  private List<Part> gates() {
    return List.of(new Part("mlp.gate_proj", inner), new Part("mlp.up_proj", inner));
  }

  /** Returns the tensors as all decoders read them: products apart, norms as factors. */
  Map<String, HostTensor> unified(Map<String, HostTensor> tensors) {
    var unified = new LinkedHashMap<>(tensors);
    for (int i = 0; isJoined() && i < layers; i++) {
      Tensors.split(unified, layer(i), "self_attn.qkv_proj.weight", attention());
      Tensors.split(unified, layer(i), "mlp.gate_up_proj.weight", gates());
    }
    if (normsAddOne()) {
      unified.replaceAll((name, tensor) -> name.endsWith("norm.weight") ? plusOne(tensor) : tensor);
    }
    return unified;
  }

  private static HostTensor plusOne(HostTensor tensor) {
    var type = new TensorType(DType.F32, tensor.type().shape());
    return HostTensor.of(type, Arrays.stream(tensor.toDoubles()).map(x -> x + 1).toArray());
  }
}
