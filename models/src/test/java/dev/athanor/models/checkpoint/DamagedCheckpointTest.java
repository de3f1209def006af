package dev.athanor.models.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.ModelException;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads checkpoints with damaged configurations and tensors: they are refused, or they run. */
class DamagedCheckpointTest {

  private static final int CASES = 300;

  private static final List<?> VALUES =
      Arrays.asList(
          null,
          true,
          false,
          "",
          "x",
          "silu",
          0,
          1,
          -1,
          3,
          1e-300,
          -0.5,
          1e300,
          Double.NaN,
          1L << 31,
          1L << 40,
          Long.MAX_VALUE,
          List.of(),
          List.of(1, "x"),
          Map.of("a", 1));

  private static Map<String, Object> damagedConfig(Map<String, ?> config, RandomGenerator random) {
    var damaged = new LinkedHashMap<String, Object>(config);
    var names = new ArrayList<>(config.keySet());
    names.remove("model_type");
    for (int i = random.nextInt(3); i >= 0; i--) {
      damaged.put(
          names.get(random.nextInt(names.size())), VALUES.get(random.nextInt(VALUES.size())));
    }
    return damaged;
  }

  private static Map<String, HostTensor> damaged(
      Map<String, HostTensor> tensors, RandomGenerator random) {
    var damaged = new LinkedHashMap<>(tensors);
    if (random.nextInt(4) > 0) {
      return damaged;
    }
    var names = new ArrayList<>(tensors.keySet());
    var name = names.get(random.nextInt(names.size()));
    switch (random.nextInt(3)) {
      case 0 -> damaged.remove(name);
      case 1 -> damaged.put(name + ".x", Objects.requireNonNull(tensors.get(name)));
      default -> {
        var type = Objects.requireNonNull(tensors.get(name)).type();
        var shape = Shape.of(random.nextInt(3), type.shape().extent(-1));
        damaged.put(name, HostTensor.zeros(new TensorType(type.dtype(), shape)));
      }
    }
    return damaged;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "llama",
        "qwen2",
        "qwen3",
        "gemma",
        "granite",
        "phi3",
        "mamba2",
        "bert",
        "roberta",
        "distilbert"
      })
  void damageIsReported(String name) {
    var checkpoint = Checkpoint.of(name);
    var random = new SplittableRandom(TestTier.seed());
    int refused = 0;
    for (int i = 0; i < CASES; i++) {
      var config = damagedConfig(checkpoint.config(), random);
      try {
        var model = Checkpoints.read(config, damaged(checkpoint.tensors(), random));
        model.graph(HostTensor.types(checkpoint.inputs()));
      } catch (ModelException e) {
        assertThat(e).as("case %d", i).hasMessageMatching("(?s).*\\S.*");
        refused++;
      } catch (RuntimeException | StackOverflowError e) {
        throw new AssertionError("case %d: %s".formatted(i, config), e);
      }
    }
    assertThat(refused).isBetween(CASES / 10, CASES - 1);
  }
}
