package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.testing.OnnxFiles;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.data.Offset;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests stored models. */
class ModelsTest {

  private static final long[] TOKENS = {5, 9, 2, 17, 4, 3, 3, 28, 6, 1};
  private static final int LOGITS = 2 * 5 * 30;

  private static byte[] file(String name) {
    return Objects.requireNonNull(
        Objects.requireNonNull(OnnxFiles.models().get("llama")).get(name));
  }

  /** Returns the elements of a message, which are its last field. */
  private static float[] elements(byte[] message) {
    var values = new float[LOGITS];
    FloatBuffer all =
        ByteBuffer.wrap(message, message.length - 4 * LOGITS, 4 * LOGITS)
            .order(ByteOrder.LITTLE_ENDIAN)
            .asFloatBuffer();
    all.get(values);
    return values;
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void storesListsRunsAndDeletesAModel(String url) {
    try (var athanor = Athanor.connect(url)) {
      var stored = athanor.storeModel("llama-java", file("model"));
      assertThat(stored.inputs())
          .containsExactly(new ModelInfo.Input("x", "i64", List.of("2", "5")));
      assertThat(stored.outputs()).containsExactly("y");
      assertThat(athanor.models()).contains(stored);
      try (var tokens = athanor.upload(HostTensor.of(TOKENS, 2, 5));
          var y =
              Objects.requireNonNull(
                  athanor.runModel("llama-java", Map.of("x", tokens), List.of("y")).get("y"))) {
        assertThat(y.shape()).containsExactly(2L, 5L, 30L);
        assertThat(y.download().toFloats())
            .containsExactly(elements(file("output0")), Offset.offset(1e-3f));
      }
      athanor.deleteModel("llama-java");
      assertThatThrownBy(() ->
              athanor.runModel(
                  "llama-java", Map.of("x", HostTensor.of(TOKENS, 2, 5)), List.of("y")))
          .isInstanceOf(AthanorException.class)
          .hasMessageContaining("There is no model \"llama-java\"");
      assertThatThrownBy(() -> athanor.storeModel("a/b", new byte[0]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "The name is \"a/b\"; a model's has 1 to 64 letters, digits, periods, hyphens and underscores, and begins with a letter or a digit.");
    }
  }
}
