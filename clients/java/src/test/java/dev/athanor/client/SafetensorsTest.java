package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SafetensorsTest {

  @TempDir private Path folder;

  @Test
  void readsWhatItWrote() throws IOException {
    var file = Files.writeString(folder.resolve("w.safetensors"), "x".repeat(1000));
    var tensors = new LinkedHashMap<String, HostTensor>();
    tensors.put("w", HostTensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3));
    tensors.put("d", HostTensor.of(new double[] {0.5}, 1, 1));
    tensors.put("half", HostTensor.of(DType.F16, new short[] {0x3c00}, 1));
    Safetensors.write(file, tensors);
    var read = Safetensors.read(file);
    assertThat(read.keySet()).containsExactly("w", "d", "half");
    assertThat(read.get("w")).hasToString("f32[2, 3]");
    tensors.forEach((name, tensor) ->
        assertThat(read.get(name))
            .isNotNull()
            .extracting(HostTensor::toBytes)
            .isEqualTo(tensor.toBytes()));
  }

  @Test
  void rejectsOtherFiles() throws IOException {
    var file = Files.writeString(folder.resolve("w.safetensors"), "{}");
    assertThatIOException()
        .isThrownBy(() -> Safetensors.read(file))
        .withMessage(
            file + " is not a valid safetensors file: the safetensors header is incomplete");
    Safetensors.write(file, Map.of("w", HostTensor.scalar(1)));
    var bytes = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(bytes, bytes.length - 1));
    assertThatIOException()
        .isThrownBy(() -> Safetensors.read(file))
        .withMessageEndingWith("a tensor is outside the safetensors file");
  }

  @Test
  void rejectsBlocks() {
    var blocks = HostTensor.of(DType.Q8_0, new byte[34], 32);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Safetensors.write(folder.resolve("w"), Map.of("w", blocks)))
        .withMessage("Tensor w is q8_0[32], but safetensors files have no dtype q8_0.");
    assertThat(folder.resolve("w")).doesNotExist();
  }
}
