package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.ops.HostTensor;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Reads checkpoints. */
public final class Checkpoints {

  private Checkpoints() {}

  /**
   * Reads a checkpoint.
   *
   * <p>Decoders take {@code tokens} i64[batch, sequence] and return {@code logits} f32[batch,
   * sequence, vocabulary] and {@code next} f32[batch, vocabulary], the logits of the last position.
   * Their states are the keys and values of each layer, or those of the recurrence. With keys and
   * values, if a sequence has fewer tokens than a call has positions, its tokens are the last ones.
   *
   * <p>Encoders take {@code input_ids}, {@code attention_mask} and, if the model tells kinds of
   * tokens apart, {@code token_type_ids}, each i64[batch, sequence]. They return {@code
   * last_hidden_state} [batch, sequence, hidden] and, if the checkpoint has a pooler, {@code
   * pooler_output} [batch, hidden].
   *
   * @param config the members of {@code config.json}
   * @param tensors the tensors of all files by name
   * @throws ModelException.Unsupported if the model has a type or an option that is not supported
   * @throws ModelException.Malformed if a member or tensors are missing or do not suit the model
   */
  public static ModelDefinition read(Map<String, ?> config, Map<String, HostTensor> tensors) {
    var members = new Config(config);
    var type = members.text("model_type", "");
    members.requireAbsent("quantization_config", "weights in f32, f16 or bf16");
    if (DecoderConfig.TYPES.contains(type)) {
      return new Decoder(DecoderConfig.of(type, members, tensors.size()), tensors);
    }
    if (EncoderConfig.TYPES.contains(type)) {
      return new Encoder(type, members, tensors);
    }
    if (type.equals(MambaConfig.TYPE)) {
      return new Mamba(MambaConfig.of(members, tensors.size()), tensors);
    }
    var types = new TreeSet<>(DecoderConfig.TYPES);
    types.addAll(EncoderConfig.TYPES);
    types.add(MambaConfig.TYPE);
    throw new ModelException.Unsupported(
        List.of(
            "`model_type` is \"%s\"; supported are %s".formatted(type, String.join(", ", types))));
  }
}
