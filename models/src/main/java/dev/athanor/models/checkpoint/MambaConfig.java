package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelException;
import dev.athanor.ops.Shape;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sizes of a model of the kind of Mamba-2.
 *
 * @param heads of the recurrence
 * @param size elements of a head
 * @param groups of heads that share their keys and queries
 * @param state rows of the state of a head
 * @param taps of the convolution
 * @param biased whether products have a bias
 * @param convolutionBias whether the convolution has a bias
 * @param tied whether the embeddings are also the matrix of the logits
 */
record MambaConfig(
    long vocabulary,
    long hidden,
    int layers,
    long heads,
    long size,
    long groups,
    long state,
    long taps,
    double epsilon,
    boolean biased,
    boolean convolutionBias,
    boolean tied) {

  static final String TYPE = "mamba2";

  static MambaConfig of(Config config, int tensors) {
    var mamba =
        new MambaConfig(
            config.size("vocab_size"),
            config.size("hidden_size"),
            config.layers("num_hidden_layers", tensors),
            config.size("num_heads"),
            config.size("head_dim"),
            config.size("n_groups"),
            config.size("state_size"),
            config.size("conv_kernel"),
            config.number("layer_norm_epsilon", 1e-5),
            config.flag("use_bias", false),
            config.flag("use_conv_bias", true),
            config.flag("tie_word_embeddings", false));
    mamba.requireSupported(config);
    return mamba;
  }

  private void requireSupported(Config config) {
    if (!config.text("hidden_act", "silu").equals("silu")) {
      throw config.unsupported("hidden_act", "silu");
    }
    if (config.list("time_step_limit").filter(limits -> !isUnlimited(limits)).isPresent()) {
      throw config.unsupported("time_step_limit", "0 and Infinity");
    }
    long inner = config.optionalSize("expand").orElse(2L) * hidden;
    if (inner() != inner) {
      throw new ModelException.Malformed(
          "`num_heads` times `head_dim` is %d; it must be `expand` times `hidden_size`, %d"
              .formatted(inner(), inner));
    }
    if (heads % groups != 0) {
      throw new ModelException.Malformed(
          "`num_heads` is %d, which is not a multiple of `n_groups`, %d".formatted(heads, groups));
    }
  }

  /** Returns whether the limits are 0 and infinity, which JSON cannot express as a number. */
  private static boolean isUnlimited(List<?> limits) {
    return limits.size() == 2
        && limits.get(0) instanceof Number low
        && low.doubleValue() == 0
        && !(limits.get(1) instanceof Number high && Double.isFinite(high.doubleValue()));
  }

  /** Returns the elements of all heads. */
  long inner() {
    return heads * size;
  }

  /** Returns the elements of the keys, and of the queries, of all groups. */
  long keys() {
    return groups * state;
  }

  /** Returns the channels of the convolution. */
  long channels() {
    return inner() + 2 * keys();
  }

  static String layer(int index) {
    return "backbone.layers.%d.".formatted(index);
  }

  /** Returns the shapes of the tensors of a checkpoint. */
  Map<String, Shape> shapes() {
    var shapes = new LinkedHashMap<String, Shape>();
    shapes.put("backbone.embeddings.weight", Shape.of(vocabulary, hidden));
    for (int i = 0; i < layers; i++) {
      shapes.put(layer(i) + "norm.weight", Shape.of(hidden));
      addMixer(layer(i) + "mixer.", shapes);
    }
    shapes.put("backbone.norm_f.weight", Shape.of(hidden));
    if (!tied) {
      shapes.put("lm_head.weight", Shape.of(vocabulary, hidden));
    }
    return shapes;
  }

  private void addMixer(String mixer, Map<String, Shape> shapes) {
    long projected = inner() + channels() + heads;
    shapes.put(mixer + "in_proj.weight", Shape.of(projected, hidden));
    shapes.put(mixer + "conv1d.weight", Shape.of(channels(), 1, taps));
    if (convolutionBias) {
      shapes.put(mixer + "conv1d.bias", Shape.of(channels()));
    }
    for (var name : List.of("dt_bias", "A_log", "D")) {
      shapes.put(mixer + name, Shape.of(heads));
    }
    shapes.put(mixer + "norm.weight", Shape.of(inner()));
    shapes.put(mixer + "out_proj.weight", Shape.of(hidden, inner()));
    if (biased) {
      shapes.put(mixer + "in_proj.bias", Shape.of(projected));
      shapes.put(mixer + "out_proj.bias", Shape.of(hidden));
    }
  }
}
