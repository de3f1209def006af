package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelDefinition;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.CheckpointFiles;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import tools.jackson.databind.json.JsonMapper;

/** A checkpoint with inputs, and outputs that transformers computed. */
record Checkpoint(
    Map<String, Object> config,
    Map<String, HostTensor> tensors,
    Map<String, HostTensor> inputs,
    Map<String, HostTensor> outputs) {

  private static final JsonMapper JSON = new JsonMapper();

  static Checkpoint of(String name) {
    var files = Objects.requireNonNull(CheckpointFiles.all().get(name));
    return new Checkpoint(
        json(get(files, "config.json")),
        safetensors(get(files, "model.safetensors")),
        safetensors(get(files, "inputs.safetensors")),
        safetensors(get(files, "outputs.safetensors")));
  }

  private static byte[] get(Map<String, byte[]> files, String name) {
    return Objects.requireNonNull(files.get(name), name);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> json(byte[] text) {
    return JSON.readValue(text, Map.class);
  }

  private static Map<String, HostTensor> safetensors(byte[] file) {
    int length = (int) ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getLong();
    var tensors = new LinkedHashMap<String, HostTensor>();
    JSON.readTree(file, 8, length)
        .properties()
        .forEach(entry -> {
          var header = entry.getValue();
          if (header.has("dtype")) {
            var dtype = DType.valueOf(header.get("dtype").asString().toUpperCase(Locale.ROOT));
            var extents = header.get("shape").valueStream().mapToLong(each -> each.asLong());
            var type = TensorType.of(dtype, extents.toArray());
            int first = 8 + length + header.get("data_offsets").get(0).asInt();
            var data = MemorySegment.ofArray(file).asSlice(first, type.bytes());
            tensors.put(entry.getKey(), new HostTensor(type, data));
          }
        });
    return tensors;
  }

  ModelDefinition model() {
    return Checkpoints.read(config, tensors);
  }

  HostTensor input(String name) {
    return Objects.requireNonNull(inputs.get(name));
  }

  HostTensor output(String name) {
    return Objects.requireNonNull(outputs.get(name));
  }

  /** Returns the relative error that is allowed: 32 roundings of f16 and bf16. */
  double limit() {
    var dtype = tensors.values().iterator().next().type().dtype();
    return dtype == DType.BF16 ? 0x1p-4 : dtype == DType.F16 ? 0x1p-7 : 1e-5;
  }
}
