package dev.athanor.service.model;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.models.ModelDefinition.Input;
import dev.athanor.models.ModelException;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.testing.CheckpointFiles;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Reads the folders of checkpoints. */
class ModelFilesTest {

  /** The files of a checkpoint with one file of weights. */
  private final Map<String, MemorySegment> files = new TreeMap<>();

  ModelFilesTest() {
    Objects.requireNonNull(CheckpointFiles.all().get("llama"))
        .forEach((name, bytes) -> files.put(name, MemorySegment.ofArray(bytes)));
    files.keySet().removeAll(List.of("inputs.safetensors", "outputs.safetensors"));
  }

  private static MemorySegment text(String text) {
    return MemorySegment.ofArray(text.getBytes(UTF_8));
  }

  private void assertMalformed(String message) {
    assertThatThrownBy(() -> new ModelFiles(files).definition(Catalogue.load()))
        .isInstanceOf(ModelException.Malformed.class)
        .hasMessage(message);
  }

  private int weights() throws IOException {
    var model = new ModelFiles(files).definition(Catalogue.load());
    assertThat(model.inputs()).extracting(Input::name).containsExactly("tokens");
    assertThat(model.states()).isNotEmpty();
    return model.weights().size();
  }

  /** Replaces the file of weights by two, each with some of the tensors, and an index. */
  private void shard() throws IOException {
    var tensors = Safetensors.read(Objects.requireNonNull(files.remove("model.safetensors")));
    var index = new StringBuilder();
    for (int shard = 0; shard < 2; shard++) {
      var types = new LinkedHashMap<String, TensorType>();
      int i = 0;
      for (var tensor : tensors.entrySet()) {
        if (i++ % 2 == shard) {
          types.put(tensor.getKey(), tensor.getValue().type());
        }
      }
      var header = Safetensors.header(types, Map.of()).orElseThrow();
      long bytes = types.values().stream().mapToLong(TensorType::bytes).sum();
      var file = MemorySegment.ofArray(new byte[(int) (header.length + bytes)]);
      MemorySegment.copy(header, 0, file, ValueLayout.JAVA_BYTE, 0, header.length);
      long at = header.length;
      for (var name : types.keySet()) {
        var data = Objects.requireNonNull(tensors.get(name)).data();
        MemorySegment.copy(data, 0, file, at, data.byteSize());
        at += data.byteSize();
        index
            .append(index.isEmpty() ? "" : ", ")
            .append("\"%s\": \"%d.safetensors\"".formatted(name, shard));
      }
      files.put(shard + ".safetensors", file);
    }
    files.put("model.safetensors.index.json", text("{\"weight_map\": {%s}}".formatted(index)));
  }

  @Test
  void readsACheckpoint() throws IOException {
    assertThat(weights()).isPositive();
  }

  @Test
  void readsACheckpointInSeveralFiles() throws IOException {
    int expected = weights();
    shard();
    assertThat(weights()).isEqualTo(expected);
    files.remove("model.safetensors.index.json");
    assertThat(weights()).isEqualTo(expected);
  }

  @Test
  void namesTheFileThatIsMissing() throws IOException {
    shard();
    files.remove("1.safetensors");
    assertMalformed("the model's folder has no file \"1.safetensors\"");
  }

  @Test
  void namesTheFileThatIsMalformed() {
    files.put("model.safetensors", text("no"));
    assertMalformed(
        "the file model.safetensors: not a safetensors file: it has fewer than 8 bytes");
  }

  @Test
  void refusesTensorsOfTheSameName() throws IOException {
    shard();
    files.remove("model.safetensors.index.json");
    files.put("2.safetensors", Objects.requireNonNull(files.get("0.safetensors")));
    var first = Safetensors.read(Objects.requireNonNull(files.get("0.safetensors")));
    assertMalformed(
        "the tensor \"%s\" is in 2.safetensors and in another file; there must be one"
            .formatted(first.keySet().iterator().next()));
  }

  @Test
  void refusesAConfigurationThatIsTooLong() {
    files.put("config.json", MemorySegment.ofArray(new byte[(1 << 24) + 1]));
    assertMalformed("the file config.json has 16777217 bytes; the limit is 16777216");
  }
}
