package dev.athanor.models.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.References;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what is refused, and the forms in which versions of transformers write checkpoints. */
class CheckpointsTest {

  /** Returns the model with some members of its configuration replaced. */
  private static ModelDefinition read(String name, Map<String, ?> members) {
    var checkpoint = Checkpoint.of(name);
    var config = new HashMap<String, @Nullable Object>(checkpoint.config());
    config.putAll(members);
    return Checkpoints.read(config, checkpoint.tensors());
  }

  private static Map<String, @Nullable Object> without(String member) {
    var absent = new HashMap<String, @Nullable Object>();
    absent.put(member, null);
    return absent;
  }

  private static Map<String, Object> rope(String kind) {
    return Map.of("rope_parameters", Map.of("rope_type", kind));
  }

  static List<Arguments> unsupported() {
    return List.of(
        Arguments.of(
            "llama",
            Map.of("model_type", "mixtral"),
            "`model_type` is \"mixtral\"; supported are bert, camembert, distilbert, gemma, granite, llama, mamba2, mistral, phi3, qwen2, qwen3, roberta, xlm-roberta"),
        Arguments.of(
            "llama",
            Map.of("quantization_config", Map.of("bits", 4)),
            "`quantization_config` is {bits=4}; supported are weights in f32, f16 or bf16"),
        Arguments.of(
            "llama",
            rope("yarn"),
            "`rope_type` is \"yarn\"; supported are default, linear and llama3"),
        Arguments.of(
            "phi3",
            Map.of("rope_parameters", Map.of("type", "longrope")),
            "`type` is \"longrope\"; supported are default, linear and llama3"),
        Arguments.of(
            "llama",
            Map.of("hidden_act", "relu"),
            "`hidden_act` is \"relu\"; supported are silu, gelu, gelu_new and gelu_pytorch_tanh"),
        Arguments.of(
            "llama",
            Map.of("mlp_bias", true),
            "`mlp_bias` is true; supported are products without bias"),
        Arguments.of(
            "granite",
            Map.of("attention_bias", true),
            "`attention_bias` is true; supported are products without bias where `residual_multiplier` is not 1"),
        Arguments.of(
            "qwen3",
            Map.of("layer_types", List.of("full_attention", "linear_attention")),
            "`layer_types` is [full_attention, linear_attention]; supported are full_attention and sliding_attention"),
        Arguments.of(
            "bert", Map.of("is_decoder", true), "`is_decoder` is true; supported are encoders"),
        Arguments.of(
            "bert",
            Map.of("position_embedding_type", "relative_key"),
            "`position_embedding_type` is \"relative_key\"; supported are absolute"),
        Arguments.of(
            "mamba2", Map.of("hidden_act", "gelu"), "`hidden_act` is \"gelu\"; supported are silu"),
        Arguments.of(
            "mamba2",
            Map.of("time_step_limit", List.of(0, 0.1)),
            "`time_step_limit` is [0, 0.1]; supported are 0 and Infinity"),
        Arguments.of(
            "distilbert",
            Map.of("activation", "tanh"),
            "`activation` is \"tanh\"; supported are gelu, gelu_new, gelu_pytorch_tanh, relu and silu"));
  }

  @ParameterizedTest
  @MethodSource("unsupported")
  void optionsThatAreNotSupportedAreNamed(String name, Map<String, ?> members, String message) {
    assertThatExceptionOfType(ModelException.Unsupported.class)
        .isThrownBy(() -> read(name, members))
        .withMessage(message);
  }

  static List<Arguments> malformed() {
    return List.of(
        Arguments.of("llama", without("vocab_size"), "`vocab_size` is missing in config.json"),
        Arguments.of(
            "llama",
            Map.of("vocab_size", "many"),
            "`vocab_size` is \"many\" in config.json; it must be an integer from 1 to 2147483647"),
        Arguments.of(
            "llama",
            Map.of("hidden_size", 16.5),
            "`hidden_size` is 16.5 in config.json; it must be an integer from 1 to 2147483647"),
        Arguments.of(
            "roberta",
            Map.of("pad_token_id", -1),
            "`pad_token_id` is -1 in config.json; it must be an integer from 0 to 2147483647"),
        Arguments.of(
            "llama",
            Map.of("rms_norm_eps", 0),
            "`rms_norm_eps` is 0 in config.json; it must be a positive number of f32"),
        Arguments.of(
            "llama",
            Map.of("attention_bias", "no"),
            "`attention_bias` is \"no\" in config.json; it must be true or false"),
        Arguments.of(
            "llama",
            Map.of("hidden_act", 1),
            "`hidden_act` is 1 in config.json; it must be a string"),
        Arguments.of(
            "qwen3",
            Map.of("layer_types", true),
            "`layer_types` is true in config.json; it must be a list"),
        Arguments.of(
            "llama",
            Map.of("rope_parameters", List.of()),
            "`rope_parameters` is [] in config.json; it must be an object"),
        Arguments.of(
            "llama",
            rope("linear"),
            "`factor` is missing in the parameters of rope in config.json"),
        Arguments.of(
            "llama",
            Map.of("partial_rotary_factor", 0.75),
            "a head has 4 elements, of which 3 would be rotated; their number must be even, and at least 2"),
        Arguments.of(
            "llama",
            Map.of("num_key_value_heads", 3),
            "`num_attention_heads` is 4, which is not a multiple of `num_key_value_heads`, 3"),
        Arguments.of(
            "llama",
            Map.of("num_hidden_layers", 2_000_000_000),
            "`num_hidden_layers` is 2000000000, but there are only 21 tensors"),
        Arguments.of(
            "qwen3",
            Map.of("layer_types", List.of("full_attention")),
            "`layer_types` has 1 elements for 2 layers"),
        Arguments.of(
            "mamba2",
            Map.of("head_dim", 2),
            "`num_heads` times `head_dim` is 16; it must be `expand` times `hidden_size`, 32"),
        Arguments.of(
            "mamba2",
            Map.of("n_groups", 3),
            "`num_heads` is 8, which is not a multiple of `n_groups`, 3"),
        Arguments.of(
            "bert",
            Map.of("num_attention_heads", 3),
            "`hidden_size` is 16, which is not a multiple of `num_attention_heads`, 3"));
  }

  @ParameterizedTest
  @MethodSource("malformed")
  void membersThatDoNotFitAreNamed(String name, Map<String, ?> members, String message) {
    assertThatExceptionOfType(ModelException.Malformed.class)
        .isThrownBy(() -> read(name, members))
        .withMessage(message);
  }

  private static void assertMalformed(
      Checkpoint checkpoint, Map<String, HostTensor> tensors, String... problems) {
    assertThatExceptionOfType(ModelException.Malformed.class)
        .isThrownBy(() -> Checkpoints.read(checkpoint.config(), tensors))
        .withMessage("the tensors do not suit config.json:\n" + String.join("\n", problems));
  }

  private static HostTensor zeros(DType dtype, long... extents) {
    return HostTensor.zeros(TensorType.of(dtype, extents));
  }

  @Test
  void allTensorsThatDoNotFitAreNamed() {
    var checkpoint = Checkpoint.of("llama");
    var tensors = new LinkedHashMap<>(checkpoint.tensors());
    tensors.remove("lm_head.weight");
    tensors.remove("model.layers.1.mlp.up_proj.weight");
    tensors.put("model.norm.weight", zeros(DType.F32, 8));
    tensors.put("model.layers.0.self_attn.o_proj.weight", zeros(DType.F16, 16, 16));
    tensors.put("model.layers.0.self_attn.q_proj.bias", zeros(DType.F32, 16));
    tensors.put("model.layers.2.input_layernorm.weight", zeros(DType.F32, 16));
    assertMalformed(
        checkpoint,
        tensors,
        "\"model.layers.1.mlp.up_proj.weight\" [24, 16] is missing",
        "\"model.norm.weight\" has the shape [8], expected [16]",
        "\"lm_head.weight\" [30, 16] is missing",
        "\"model.layers.0.self_attn.q_proj.bias\" is not part of the model",
        "\"model.layers.2.input_layernorm.weight\" is not part of the model",
        "\"model.layers.0.self_attn.o_proj.weight\" is f16; the other matrices are f32, and vectors may be f32");
  }

  @Test
  void dtypesMustBeThoseOfOps() {
    var checkpoint = Checkpoint.of("distilbert");
    var tensors = new LinkedHashMap<String, HostTensor>();
    checkpoint
        .tensors()
        .forEach((name, tensor) ->
            tensors.put(name, HostTensor.zeros(new TensorType(DType.F64, tensor.type().shape()))));
    assertThatExceptionOfType(ModelException.Malformed.class)
        .isThrownBy(() -> Checkpoints.read(checkpoint.config(), tensors))
        .withMessageContaining(
            "\n\"embeddings.word_embeddings.weight\" is f64; supported are f32, f16 and bf16\n");
  }

  /** Vectors may be f32 beside matrices of fewer bits. */
  @Test
  void normsMayBeF32() {
    var checkpoint = Checkpoint.of("llama-bf16");
    var tensors = new LinkedHashMap<>(checkpoint.tensors());
    tensors.replaceAll((name, tensor) ->
        name.endsWith("norm.weight")
            ? HostTensor.of(new TensorType(DType.F32, tensor.type().shape()), tensor.toDoubles())
            : tensor);
    assertThat(logits(Checkpoints.read(checkpoint.config(), tensors), checkpoint))
        .isEqualTo(logits(checkpoint.model(), checkpoint));
  }

  private static double[] logits(ModelDefinition model, Checkpoint checkpoint) {
    var inputs = checkpoint.inputs();
    var outputs = References.run(model.graph(HostTensor.types(inputs)), inputs);
    return Objects.requireNonNull(outputs.get("logits")).toDoubles();
  }

  /** Version 4 of transformers writes two members about rope, and the kind as "type" at first. */
  @Test
  void earlierFormsOfRopeAreKnown() {
    var checkpoint = Checkpoint.of("llama-bf16");
    var members = without("rope_parameters");
    members.put("rope_theta", 10_000);
    members.put("rope_scaling", Map.of("type", "linear", "factor", 4));
    assertThat(logits(read("llama-bf16", members), checkpoint))
        .isEqualTo(logits(checkpoint.model(), checkpoint));
  }

  /** Version 4 does not write the kinds of layers; those from {@code max_window_layers} slide. */
  @Test
  void windowsOfLayersFollowFromTheirNumber() {
    var checkpoint = Checkpoint.of("qwen3");
    double[] expected = logits(checkpoint.model(), checkpoint);
    assertThat(logits(read("qwen3", without("layer_types")), checkpoint)).isEqualTo(expected);
    var full = without("layer_types");
    full.put("use_sliding_window", false);
    assertThat(logits(read("qwen3", full), checkpoint)).isNotEqualTo(expected);
  }

  /** What follows from the configuration or from other tensors is not read. */
  @Test
  void tensorsThatAreCopiesAreNotRead() {
    var checkpoint = Checkpoint.of("qwen3");
    var tensors = new LinkedHashMap<>(checkpoint.tensors());
    tensors.put("lm_head.weight", zeros(DType.F32, 30, 16));
    tensors.put("model.layers.0.self_attn.rotary_emb.inv_freq", zeros(DType.F32, 4));
    assertThat(Checkpoints.read(checkpoint.config(), tensors).weights())
        .containsExactlyElementsOf(checkpoint.model().weights());
  }

  @Test
  void callsMustSuitTheModel() {
    var llama = Checkpoint.of("llama").model();
    assertThatExceptionOfType(ModelException.InvalidInput.class)
        .isThrownBy(() -> llama.graph(Map.of("tokens", TensorType.of(DType.I64, 1, 25))))
        .withMessage(
            "input \"tokens\" is i64[1, 25]; the model requires sequences of 1 to 24 tokens");
    var roberta = Checkpoint.of("roberta").model();
    var ids = TensorType.of(DType.I64, 2, 23);
    assertThatExceptionOfType(ModelException.InvalidInput.class)
        .isThrownBy(() -> roberta.graph(Map.of("input_ids", ids, "attention_mask", ids)))
        .withMessage(
            "input \"input_ids\" is i64[2, 23]; the model requires sequences of 1 to 22 tokens");
    var types =
        Map.of(
            "tokens",
            TensorType.of(DType.I64, 1, 1),
            ModelDefinition.LENGTHS,
            TensorType.of(DType.I32, 1));
    assertThatExceptionOfType(ModelException.InvalidInput.class)
        .isThrownBy(() -> llama.graph(types))
        .withMessage(
            "the inputs of the model are [tokens i64[batch, sequence], lengths i32[batch],"
                + " blockTable i32[batch, blocksOfSequence],"
                + " layers.0.keys f32[blocks, 2, blockSize, 4],"
                + " layers.0.values f32[blocks, 2, blockSize, 4],"
                + " layers.1.keys f32[blocks, 2, blockSize, 4],"
                + " layers.1.values f32[blocks, 2, blockSize, 4]], got [lengths, tokens]");
  }

  @Test
  void limitsOfOpsAreNamed() {
    var members =
        Map.of(
            "model_type", "distilbert",
            "vocab_size", 2,
            "max_position_embeddings", 2,
            "dim", 600,
            "hidden_dim", 1,
            "n_layers", 1,
            "n_heads", 1);
    var tensors = new LinkedHashMap<String, HostTensor>();
    EncoderConfig.of("distilbert", new Config(members), Map.of("", zeros(DType.F32)))
        .shapes()
        .forEach(
            (name, shape) -> tensors.put(name, HostTensor.zeros(new TensorType(DType.F32, shape))));
    var ids = TensorType.of(DType.I64, 1, 1);
    assertThatExceptionOfType(ModelException.Unsupported.class)
        .isThrownBy(() ->
            Checkpoints.read(members, tensors)
                .graph(Map.of("input_ids", ids, "attention_mask", ids)))
        .withMessageStartingWith("attention: ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"llama", "llama-bf16", "mamba2", "bert", "distilbert"})
  void outputsHaveTheTypesThatAreDeclared(String name) {
    var checkpoint = Checkpoint.of(name);
    var model = checkpoint.model();
    var declared =
        model.outputs().stream().map(output -> model.declared(output).orElseThrow()).toList();
    var types = new HashMap<String, TensorType>();
    model
        .graph(HostTensor.types(checkpoint.inputs()))
        .outputs()
        .forEach((output, where) -> types.put(output, where.type()));
    assertThat(ModelDefinition.check(declared, types)).containsKey("batch");
    assertThat(model.declared("none")).isEmpty();
  }
}
