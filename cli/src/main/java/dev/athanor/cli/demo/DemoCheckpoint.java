package dev.athanor.cli.demo;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Safetensors;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import tools.jackson.databind.json.JsonMapper;

/**
 * A checkpoint in the layout of Llama with random weights in f32. Its tokens are bytes.
 *
 * @param hidden elements of a position between layers; a multiple of {@link #HEAD}
 * @param seed of the weights
 */
record DemoCheckpoint(int layers, int hidden, long seed) {

  /** Elements of an attention head. */
  static final int HEAD = 32;

  /** Maximum number of positions of a sequence. */
  static final int POSITIONS = 2048;

  private static final int VOCABULARY = 256;

  private int heads() {
    return hidden / HEAD;
  }

  /** Returns the heads of keys and values: two heads share one if there are two. */
  private int groups() {
    return heads() % 2 == 0 ? heads() / 2 : heads();
  }

  /** Returns the elements of a position within a gated unit, as many as Llama has. */
  private int inner() {
    return Math.ceilDiv(hidden * 8, 3 * HEAD) * HEAD;
  }

  Map<String, Object> config() {
    var config = new LinkedHashMap<String, Object>();
    config.put("model_type", "llama");
    config.put("vocab_size", VOCABULARY);
    config.put("hidden_size", hidden);
    config.put("intermediate_size", inner());
    config.put("num_hidden_layers", layers);
    config.put("num_attention_heads", heads());
    config.put("num_key_value_heads", groups());
    config.put("hidden_act", "silu");
    config.put("rms_norm_eps", 1e-5);
    config.put("rope_theta", 10_000.0);
    config.put("max_position_embeddings", POSITIONS);
    config.put("tie_word_embeddings", false);
    return config;
  }

  private Map<String, TensorType> types() {
    var types = new LinkedHashMap<String, TensorType>();
    add(types, "model.embed_tokens", VOCABULARY, hidden);
    int shared = groups() * HEAD;
    for (int i = 0; i < layers; i++) {
      var layer = "model.layers.%d.".formatted(i);
      add(types, layer + "input_layernorm", hidden);
      add(types, layer + "self_attn.q_proj", hidden, hidden);
      add(types, layer + "self_attn.k_proj", shared, hidden);
      add(types, layer + "self_attn.v_proj", shared, hidden);
      add(types, layer + "self_attn.o_proj", hidden, hidden);
      add(types, layer + "post_attention_layernorm", hidden);
      add(types, layer + "mlp.gate_proj", inner(), hidden);
      add(types, layer + "mlp.up_proj", inner(), hidden);
      add(types, layer + "mlp.down_proj", hidden, inner());
    }
    add(types, "model.norm", hidden);
    add(types, "lm_head", VOCABULARY, hidden);
    return types;
  }

  private static void add(Map<String, TensorType> types, String name, long... extents) {
    types.put(name + ".weight", TensorType.of(DType.F32, extents));
  }

  /** Writes {@code config.json} and {@code model.safetensors} into a folder. */
  void write(Path folder) throws IOException {
    Files.write(folder.resolve("config.json"), new JsonMapper().writeValueAsBytes(config()));
    var types = types();
    var random = new SplittableRandom(seed);
    try (var out = Files.newOutputStream(folder.resolve("model.safetensors"))) {
      out.write(Safetensors.header(types, Map.of()).orElseThrow());
      for (var type : types.values()) {
        write(type, random, out);
      }
    }
  }

  /** Writes ones for a norm, or numbers around 0 that keep the variance of what they multiply. */
  private static void write(TensorType type, SplittableRandom random, OutputStream out)
      throws IOException {
    var shape = type.shape();
    boolean isNorm = shape.rank() == 1;
    long row = shape.extent(shape.rank() - 1);
    double most = Math.sqrt(3.0 / row); // the variance is 1 / row
    var bytes = ByteBuffer.allocate(Math.toIntExact(4 * row)).order(ByteOrder.LITTLE_ENDIAN);
    for (long i = 0; i < (isNorm ? 1 : shape.extent(0)); i++) {
      while (bytes.hasRemaining()) {
        bytes.putFloat(isNorm ? 1 : (float) random.nextDouble(-most, most));
      }
      out.write(bytes.array());
      bytes.clear();
    }
  }
}
