package dev.athanor.onnx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.onnx.file.OnnxException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.OnnxFiles;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads damaged models, which are refused with a message or still are models. */
class DamagedModelTest {

  private static final int DAMAGES = 400;

  private static void use(byte[] file) {
    try {
      var model = OnnxModel.read(file);
      var types = new LinkedHashMap<String, TensorType>();
      for (var input : model.inputs()) {
        var extents =
            input.extents().stream()
                .map(extent -> extent.matches("\\d{1,3}") ? Long.parseLong(extent) : 2L)
                .toList();
        types.put(input.name(), new TensorType(input.dtype(), new Shape(extents)));
      }
      model.graph(types);
    } catch (OnnxException e) {
      assertThat(e.getMessage()).isNotBlank();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"llama", "resnet", "whisper", "deberta"})
  void damagedBytesAreRefusedOrHarmless(String name) {
    var random = new SplittableRandom(TestTier.seed());
    var file = Objects.requireNonNull(OnnxFiles.models().get(name)).get("model");
    for (int i = 0; i < DAMAGES; i++) {
      var damaged = Objects.requireNonNull(file).clone();
      for (int j = 0; j <= i % 4; j++) {
        // most damages hit the nodes, which precede the weights
        int end = i % 3 == 0 ? damaged.length : damaged.length / 4;
        damaged[random.nextInt(end)] = (byte) random.nextInt(256);
      }
      use(damaged);
    }
  }

  @Test
  void damagedNodesAreRefusedOrHarmless() {
    var random = new SplittableRandom(TestTier.seed());
    for (Map<String, byte[]> files : OnnxFiles.nodes().values()) {
      var damaged = Objects.requireNonNull(files.get("model")).clone();
      damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      use(damaged);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 100, 5000})
  void shortenedFilesAreRefused(int length) {
    var file = Objects.requireNonNull(OnnxFiles.models().get("llama")).get("model");
    assertThatThrownBy(() -> OnnxModel.read(Arrays.copyOf(file, length)))
        .isInstanceOf(OnnxException.Malformed.class)
        .hasMessageStartingWith("the file of %d bytes is not an ONNX model: ".formatted(length));
  }
}
