package dev.athanor.ops.attention.backward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Tag(TestTier.THOROUGH_TAG)
class AttentionBackwardTest {

  private static final AttentionBackward BACKWARD = new AttentionBackward();

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(BACKWARD.description(), given);
  }

  private static Map<String, HostTensor> inputs(
      DType dtype, int sq, int sk, int d, Map<String, ?> given) {
    Draw draw = new Draw(new Random(7));
    var inputs =
        new HashMap<>(
            Map.of(
                "q", draw.normal(dtype, sq, d),
                "k", draw.normal(dtype, sk, d),
                "v", draw.normal(dtype, sk, d),
                "grad", draw.normal(dtype, sq, d)));
    inputs.putAll(BackwardCases.forwardOutputs(inputs, attributes(given)));
    return inputs;
  }

  /** A masked key has no influence on the gradient of the query, and vice versa. */
  @ParameterizedTest
  @CsvSource({
    "F32, 40, 40, 24, 0",
    "F16, 40, 40, 24, 0",
    "BF16, 20, 40, 129, 9",
    "F32, 20, 40, 80, 9"
  })
  void maskedInputsHaveNoInfluence(DType dtype, int sq, int sk, int d, int window) {
    Map<String, ?> given = Map.of("causal", true, "window", window);
    var finite = inputs(dtype, sq, sk, d, given);
    int key = sk - sq / 2;
    int query = sq / 2 - 3;
    for (double special : new double[] {Double.NaN, Double.POSITIVE_INFINITY}) {
      for (var plan : Runner.plans(BACKWARD, finite, attributes(given))) {
        var baseline = Runner.run(plan, finite);
        var ofKey = Runner.run(plan, with(finite, List.of("k", "v"), key, d, special));
        var ofQuery = Runner.run(plan, with(finite, List.of("q", "grad"), query, d, special));
        for (int i = 0; i < sq; i++) {
          if (!sees(i, key, sq, sk, window)) {
            assertRowsEqual(plan.kernel(), baseline, ofKey, "dq", i, d);
          }
        }
        for (int j = 0; j < sk; j++) {
          if (!sees(query, j, sq, sk, window)) {
            assertRowsEqual(plan.kernel(), baseline, ofQuery, "dk", j, d);
            assertRowsEqual(plan.kernel(), baseline, ofQuery, "dv", j, d);
          } else {
            assertThat(Tensors.get(ofQuery, "dv").get((long) j * d)).isNaN();
          }
        }
      }
    }
  }

  /**
   * A query whose keys are all hidden by large negative products, and which has no gradient, adds
   * nothing to other gradients.
   */
  @ParameterizedTest
  @CsvSource({"F32, -1e9", "F32, -1e30", "BF16, -1e30"})
  void queriesWithLargeScoresHaveFiniteGradients(DType dtype, double hidden) {
    var inputs = inputs(dtype, 20, 40, 16, Map.of());
    for (int row = 0; row < 40; row++) {
      dtype.write(Tensors.get(inputs, "k").data(), row * 16L + 15, hidden);
    }
    inputs.putAll(BackwardCases.forwardOutputs(inputs, attributes(Map.of())));
    inputs.put("grad", HostTensor.zeros(Tensors.get(inputs, "grad").type()));
    for (var output : List.of("dq", "dk", "dv")) {
      Runner.all(BACKWARD, inputs, Map.of(), output)
          .forEach((kernel, gradient) -> assertThat(gradient).as(kernel).containsOnly(0.0));
    }
  }

  /** Returns whether a query sees a key; {@code window} is 0 for none. */
  static boolean sees(int query, int key, int sq, int sk, int window) {
    int position = query + sk - sq;
    return key <= position && (window == 0 || key > position - window);
  }

  /** Returns inputs in which a row of some tensors has a special value. */
  static Map<String, HostTensor> with(
      Map<String, HostTensor> inputs, List<String> names, int row, int d, double special) {
    var changed = new HashMap<>(inputs);
    for (var name : names) {
      var tensor = Tensors.copy(Tensors.get(inputs, name));
      for (int c = 0; c < d; c++) {
        tensor.type().dtype().write(tensor.data(), (long) row * d + c, special);
      }
      changed.put(name, tensor);
    }
    return changed;
  }

  private static void assertRowsEqual(
      String kernel,
      Map<String, HostTensor> baseline,
      Map<String, HostTensor> outputs,
      String name,
      int row,
      int d) {
    for (int c = 0; c < d; c += d - 1) {
      assertThat(Tensors.get(outputs, name).get((long) row * d + c))
          .as("%s, %s[%d]", kernel, name, row)
          .isEqualTo(Tensors.get(baseline, name).get((long) row * d + c));
    }
  }

  /** Compares with gradients in float64, for fewer and for more keys than queries. */
  @ParameterizedTest
  @CsvSource({"F32, 19, 70, 0", "F16, 70, 19, 0", "F32, 100, 33, 5", "BF16, 40, 90, 7"})
  void topLeftAlignsTheFirstQueryWithTheFirstKey(DType dtype, int sq, int sk, int window) {
    Map<String, ?> given = Map.of("causal", true, "alignment", "top-left", "window", window);
    var inputs = inputs(dtype, sq, sk, 16, given);
    Runner.check(BACKWARD, inputs, attributes(given), AttentionBackward.tolerance(dtype))
        .forEach(outputs -> {
          for (int j = sq; j < sk; j++) {
            assertThat(Tensors.get(outputs, "dv").get(j * 16L)).isZero();
          }
        });
  }

  @Test
  void wideWindowsMaskNothing() {
    var inputs = inputs(DType.F32, 5, 5, 16, Map.of());
    var without = Runner.run(BACKWARD, inputs, Map.of(), "dk");
    Tensors.equalBits(
        Runner.run(BACKWARD, inputs, Map.of("window", Integer.MAX_VALUE), "dk"), without);
  }

  /** Values of S and D: whole tiles, ragged sizes, and whole tiles plus one. */
  @ParameterizedTest
  @CsvSource({
    "F32, 32, 32, false",
    "F32, 32, 32, true",
    "F32, 64, 64, false",
    "F32, 64, 64, true",
    "F32, 128, 128, false",
    "F32, 128, 128, true",
    "F32, 17, 19, false",
    "F32, 17, 19, true",
    "F32, 257, 32, false",
    "F32, 257, 32, true",
    "F16, 128, 128, true",
    "F16, 257, 32, false",
    "BF16, 64, 64, true"
  })
  void gradientsMatchTheReference(DType dtype, int s, int d, boolean causal) {
    var given = Map.of("causal", causal);
    var inputs = inputs(dtype, s, s, d, given);
    var expected = BACKWARD.reference(inputs, attributes(given));
    Runner.run(BACKWARD, inputs, given)
        .forEach((name, gradient) ->
            assertThat(
                    AttentionBackward.tolerance(dtype)
                        .error(gradient.toDoubles(), AttentionReference.get(expected, name)))
                .as(name)
                .isLessThanOrEqualTo(1e-2));
  }

  /** A single key has probability 1 for any score, so only its value has a gradient. */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16", "BF16"})
  void singleKeysHaveAGradientOfTheValueOnly(DType dtype) {
    var inputs = inputs(dtype, 1, 1, 16, Map.of());
    for (var plan : Runner.plans(BACKWARD, inputs, attributes(Map.of()))) {
      var gradients = Runner.run(plan, inputs);
      var grad = Tensors.get(inputs, "grad").toDoubles();
      assertThat(Tolerance.maximum(1e-6).error(Tensors.get(gradients, "dv").toDoubles(), grad))
          .isLessThanOrEqualTo(1e-6);
      for (var name : List.of("dq", "dk")) {
        for (double each : Tensors.get(gradients, name).toDoubles()) {
          assertThat(each).as(name).isCloseTo(0, within(1e-5));
        }
      }
    }
  }

  /** Compares with difference quotients of Σ grad∘out, computed in float64. */
  @ParameterizedTest
  @CsvSource({"q, 0, 0", "k, 0, 0", "v, 0, 0", "q, 3, 2", "k, 3, 2"})
  void gradientsMatchDifferenceQuotients(String name, int window, double softcap) {
    var given = Map.of("causal", true, "window", window, "softcap", softcap);
    var inputs = inputs(DType.F32, 8, 8, 16, given);
    var gradient = Tensors.get(Runner.run(BACKWARD, inputs, given), "d" + name);
    double h = 1e-3;
    for (int at = 0; at < 8 * 16; at += 5) {
      double quotient =
          (loss(inputs, given, name, at, h) - loss(inputs, given, name, at, -h)) / (2 * h);
      assertThat(gradient.get(at)).as("%s %d", name, at).isCloseTo(quotient, within(1e-3));
    }
  }

  private static double loss(
      Map<String, HostTensor> inputs, Map<String, ?> given, String name, int at, double by) {
    var moved = new HashMap<String, HostTensor>();
    for (var each : List.of("q", "k", "v")) {
      var values = Tensors.get(inputs, each).toDoubles();
      values[at] += each.equals(name) ? by : 0;
      moved.put(each, HostTensor.of(TensorType.of(DType.F64, 8, 16), values));
    }
    var out =
        Objects.requireNonNull(AttentionReference.forward(moved, attributes(given)).get("out"))
            .all();
    var grad = Tensors.get(inputs, "grad").toDoubles();
    double sum = 0;
    for (int i = 0; i < out.length; i++) {
      sum += out[i] * grad[i];
    }
    return sum;
  }

  @ParameterizedTest
  @EnumSource(names = {"F32", "F16"})
  void runsAreBitIdentical(DType dtype) {
    var draw = new Draw(new Random(7));
    var inputs = new HashMap<String, HostTensor>();
    for (var name : List.of("q", "grad")) {
      inputs.put(name, draw.normal(dtype, 2, 4, 70, 32));
    }
    for (var name : List.of("k", "v")) {
      inputs.put(name, draw.normal(dtype, 2, 2, 70, 32));
    }
    inputs.putAll(BackwardCases.forwardOutputs(inputs, attributes(Map.of())));
    var first = Runner.run(BACKWARD, inputs, Map.of());
    Runner.run(BACKWARD, inputs, Map.of())
        .forEach((name, gradient) -> Tensors.equalBits(gradient, Tensors.get(first, name)));
  }

  @Test
  void usesThreeKernels() {
    var types = HostTensor.types(inputs(DType.F16, 4, 4, 64, Map.of()));
    var plan = BACKWARD.plans(types, attributes(Map.of()), TestDevices.H200).getFirst();
    assertThat(plan.kernels().stream().map(kernel -> kernel.name().replaceAll("_f16.*", "")))
        .containsExactly(
            "attention_backward_delta", "attention_backward_dq", "attention_backward_dkdv");
    assertThat(plan.workspaceBytes()).isEqualTo(4 * 4);
  }

  @Test
  void rejectsInconsistentForwardResults() {
    assertRejected(
        "lse",
        TensorType.of(DType.F32, 5),
        "lse [5] has Sq = 5 but grad [4, 8] has Sq = 4; they must be equal");
    assertRejected(
        "out",
        TensorType.of(DType.F16, 4, 7),
        "out has shape [4, 7] but grad has [4, 8]; they must be the same");
    assertRejected(
        "grad", TensorType.of(DType.F32, 4, 8), "grad is f32 but q is f16; they must be the same");
  }

  private static void assertRejected(String name, TensorType type, String message) {
    var types = HostTensor.types(inputs(DType.F16, 4, 4, 8, Map.of()));
    types.put(name, type);
    assertThatThrownBy(() -> BACKWARD.plans(types, attributes(Map.of()), TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }
}
