package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.client.ops.Activation;
import dev.athanor.client.ops.Operations;
import java.util.Map;
import java.util.function.Consumer;

/** A call of each op of a training step besides the gradients of matrix products and norms. */
final class TrainingExamples {

  private TrainingExamples() {}

  private static HostTensor row(float... values) {
    return HostTensor.of(values, 1, values.length);
  }

  private static void near(HostTensor actual, double... expected) {
    var values = actual.toFloats();
    assertThat(values).hasSize(expected.length);
    for (int i = 0; i < expected.length; i++) {
      assertThat(values[i]).isCloseTo((float) expected[i], within(1e-5f));
    }
  }

  static Map<String, Consumer<Operations<HostTensor>>> all() {
    double ln2 = Math.log(2);
    var label = HostTensor.of(new long[] {1}, 1);
    var one = HostTensor.of(new float[] {1}, 1);
    var zero = HostTensor.of(new float[] {0}, 1);
    return Map.of(
        "activation-backward",
        o ->
            near(
                o.activationBackward(row(1, -2), row(3, 3), p -> p.activation(Activation.RELU)),
                3,
                0),
        "adamw",
        o -> {
          var next = o.adamw(one, one, zero, zero, 1, p -> p.learningRate(0.1));
          near(next.y(), 0.899);
          near(next.nextM(), 0.1);
          near(next.nextV(), 0.001);
        },
        "cross-entropy",
        o -> {
          var result = o.crossEntropy(row(0, 0), label);
          near(result.loss(), ln2);
          near(result.lse(), ln2);
        },
        "cross-entropy-backward",
        o -> {
          var lse = HostTensor.of(new float[] {(float) ln2}, 1);
          near(o.crossEntropyBackward(row(0, 0), label, lse, one), 0.5, -0.5);
        },
        "geglu-backward",
        o -> {
          var result = o.gegluBackward(row(1, 1), row(0, 0), row(4, 6));
          near(result.dgate(), 2, 3);
          near(result.dup(), 0, 0);
        },
        "softmax-backward",
        o -> near(o.softmaxBackward(row(1, 0), row(0.5f, 0.5f)), 0.25, -0.25),
        "swiglu-backward",
        o -> {
          var result = o.swigluBackward(row(1, 1), row(0, 0), row(4, 6));
          near(result.dgate(), 2, 3);
          near(result.dup(), 0, 0);
        });
  }
}
