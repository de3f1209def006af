package dev.athanor.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.checkpoint.Checkpoints;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.codec.Safetensors;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

class DemoCheckpointTest {

  @TempDir Path folder;

  private byte[] weights(DemoCheckpoint checkpoint) throws IOException {
    checkpoint.write(folder);
    return Files.readAllBytes(folder.resolve("model.safetensors"));
  }

  private static Map<String, HostTensor> tensors(byte[] file) throws IOException {
    return Safetensors.read(MemorySegment.ofArray(file));
  }

  /** Reads checkpoints of 1, 2 and 3 heads, of which two share keys and values if there are two. */
  @ParameterizedTest
  @ValueSource(ints = {32, 64, 96})
  @SuppressWarnings("unchecked")
  void isACheckpointOfADecoder(int hidden) throws IOException {
    var tensors = tensors(weights(new DemoCheckpoint(2, hidden, 1)));
    var config =
        (Map<String, Object>)
            new JsonMapper().readValue(folder.resolve("config.json").toFile(), Map.class);
    ModelDefinition model = Checkpoints.read(config, tensors);
    assertThat(model.outputs()).containsExactly("logits", "next");
    assertThat(model.states()).hasSize(4);
    assertThat(model.maxPositions()).isEqualTo(2048);
  }

  /** A product with a matrix keeps the variance of its input. */
  @Test
  void weightsAreRandomAroundZero() throws IOException {
    var tensors = tensors(weights(new DemoCheckpoint(1, 64, 1)));
    var matrix =
        Objects.requireNonNull(tensors.get("model.layers.0.mlp.down_proj.weight")).toDoubles();
    assertThat(matrix).hasSize(64 * 192);
    assertThat(Arrays.stream(matrix).average().orElseThrow()).isCloseTo(0, Offset.offset(0.005));
    assertThat(Arrays.stream(matrix).map(w -> w * w).average().orElseThrow())
        .isCloseTo(1.0 / 192, Offset.offset(1e-3 / 4));
    assertThat(Objects.requireNonNull(tensors.get("model.norm.weight")).toDoubles())
        .containsOnly(1);
  }

  @Test
  void theSeedDeterminesTheWeights() throws IOException {
    var first = weights(new DemoCheckpoint(1, 32, 7));
    assertThat(weights(new DemoCheckpoint(1, 32, 7))).isEqualTo(first);
    assertThat(weights(new DemoCheckpoint(1, 32, 8))).isNotEqualTo(first);
  }
}
