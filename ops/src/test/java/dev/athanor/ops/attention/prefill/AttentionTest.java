package dev.athanor.ops.attention.prefill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag(TestTier.THOROUGH_TAG)
public class AttentionTest {

  private static final Attention ATTENTION = new Attention();

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(ATTENTION.description(), given);
  }

  private static Map<String, HostTensor> inputs(DType dtype, int sq, int sk, int d, int dv) {
    var draw = new Draw(new Random(7));
    return Map.of(
        "q", draw.normal(dtype, sq, d),
        "k", draw.normal(dtype, sk, d),
        "v", draw.normal(dtype, sk, dv));
  }

  /** Sizes are ragged for every tile, and the mask crosses the diagonal tile. */
  @ParameterizedTest
  @CsvSource({"F32, 19", "F32, 65", "F16, 19", "F16, 65", "BF16, 33", "F16, 129"})
  void identityValuesYieldTheProbabilities(DType dtype, int s) {
    var inputs =
        Map.of(
            "q", new Draw(new Random(7)).normal(dtype, s, 16),
            "k", new Draw(new Random(7)).normal(dtype, s, 16),
            "v", Tensors.identity(dtype, s));
    var plans = Runner.plans(ATTENTION, inputs, attributes(Map.of("causal", true)));
    assertThat(plans).hasSizeGreaterThan(2);
    for (Plan plan : plans) {
      var p = Tensors.get(Runner.run(plan, inputs), "out");
      assertThat(p.get(0)).as(plan.kernel()).isEqualTo(1);
      for (int row = 0; row < s; row++) {
        double sum = 0;
        for (int column = 0; column < s; column++) {
          double weight = p.get((long) row * s + column);
          sum += weight;
          if (column > row) {
            assertThat(weight).as("%s, row %d", plan.kernel(), row).isZero();
          } else {
            assertThat(weight).as("%s, row %d", plan.kernel(), row).isPositive();
          }
        }
        assertThat(sum)
            .as("%s, row %d", plan.kernel(), row)
            .isCloseTo(1, within(dtype == DType.F32 ? 1e-5 : 5e-3));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F32", "F16", "BF16"})
  void firstCausalQueryYieldsTheFirstValue(DType dtype) {
    var inputs = inputs(dtype, 17, 17, 24, 12);
    for (var plan : Runner.plans(ATTENTION, inputs, attributes(Map.of("causal", true)))) {
      var out = Tensors.get(Runner.run(plan, inputs), "out");
      for (int c = 0; c < 12; c++) {
        assertThat(out.get(c)).isEqualTo(Tensors.get(inputs, "v").get(c));
      }
    }
  }

  /**
   * The last query is aligned with the last key, so the first queries see no key if there are fewer
   * keys than queries.
   */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16"})
  void queriesWithoutVisibleKeysYieldZeros(DType dtype) {
    var inputs = inputs(dtype, 70, 20, 16, 16);
    var given = attributes(Map.of("causal", true, "withLse", true));
    for (var plan : Runner.plans(ATTENTION, inputs, given)) {
      var outputs = Runner.run(plan, inputs);
      for (int row = 0; row < 50; row++) {
        assertThat(Tensors.get(outputs, "lse").get(row)).isEqualTo(Double.NEGATIVE_INFINITY);
        assertThat(Tensors.get(outputs, "out").get(row * 16L)).isZero();
      }
      assertThat(Tensors.get(outputs, "lse").get(50)).isFinite();
    }
  }

  /**
   * Masked keys and values may be NaN or infinite: the results are bit-identical to those with
   * finite numbers. Visible keys and values propagate as usual.
   */
  @ParameterizedTest
  @CsvSource({
    "F32, 70, 70, 24, 0, NaN",
    "F16, 70, 70, 24, 0, -Infinity",
    "BF16, 33, 70, 24, 0, NaN",
    "F16, 33, 140, 72, 0, NaN",
    "F16, 20, 40, 256, 9, Infinity",
    "F32, 20, 40, 100, 9, Infinity",
    "BF16, 20, 40, 129, 9, -Infinity"
  })
  void maskedInputsHaveNoInfluence(DType dtype, int sq, int sk, int d, int window, double special) {
    var finite = inputs(dtype, sq, sk, d, d);
    var given = attributes(Map.of("causal", true, "withLse", true, "window", window));
    int hole = sk - sq / 2;
    var inputs = new HashMap<>(finite);
    for (var name : List.of("k", "v")) {
      var tensor = Tensors.copy(Tensors.get(finite, name));
      for (int c = 0; c < d; c++) {
        dtype.write(tensor.data(), (long) hole * d + c, special);
      }
      inputs.put(name, tensor);
    }
    var value = new HashMap<>(finite);
    value.put("v", Tensors.get(inputs, "v"));
    for (var plan : Runner.plans(ATTENTION, inputs, given)) {
      var baseline = Runner.run(plan, finite);
      var both = Runner.run(plan, inputs);
      var onlyValue = Tensors.get(Runner.run(plan, value), "out");
      for (int row = 0; row < sq; row++) {
        int position = row + sk - sq;
        boolean seen = hole <= position && (window == 0 || hole > position - window);
        double out = Tensors.get(both, "out").get((long) row * d + d - 1);
        if (seen) {
          assertThat(onlyValue.get((long) row * d + d - 1))
              .as("%s, row %d", plan.kernel(), row)
              .isEqualTo(Double.valueOf(special));
          assertThat(Double.isFinite(out) && special > 0).as(plan.kernel()).isFalse();
        } else {
          assertThat(out)
              .as("%s, row %d", plan.kernel(), row)
              .isEqualTo(Tensors.get(baseline, "out").get((long) row * d + d - 1));
          assertThat(Tensors.get(both, "lse").get(row))
              .isEqualTo(Tensors.get(baseline, "lse").get(row));
        }
      }
    }
  }

  /**
   * As with PyTorch's is_causal, query i sees keys up to i, whatever the numbers of queries and
   * keys.
   */
  @ParameterizedTest
  @CsvSource({"F32, 19, 70, 0", "F16, 70, 19, 0", "F32, 100, 33, 5", "BF16, 40, 90, 7"})
  void topLeftAlignsTheFirstQueryWithTheFirstKey(DType dtype, int sq, int sk, int window) {
    var inputs = inputs(dtype, sq, sk, 16, 16);
    var given =
        attributes(
            Map.of("causal", true, "alignment", "top-left", "window", window, "withLse", true));
    for (var plan : Runner.plans(ATTENTION, inputs, given)) {
      var outputs = Runner.run(plan, inputs);
      var out = Tensors.get(outputs, "out");
      for (int row = 0; row < sq; row++) {
        int from = window == 0 ? 0 : Math.max(0, row - window + 1);
        int to = Math.min(row + 1, sk);
        double total = 0;
        double sum = 0;
        for (int j = from; j < to; j++) {
          double product = 0;
          for (int c = 0; c < 16; c++) {
            product +=
                Tensors.get(inputs, "q").get(row * 16L + c)
                    * Tensors.get(inputs, "k").get(j * 16L + c);
          }
          double weight = Math.exp(product / 4);
          total += weight;
          sum += weight * Tensors.get(inputs, "v").get(j * 16L + 3);
        }
        assertThat(out.get(row * 16L + 3))
            .as("%s, row %d", plan.kernel(), row)
            .isCloseTo(total == 0 ? 0 : sum / total, within(dtype == DType.F32 ? 1e-5 : 2e-2));
      }
      if (window == 0) {
        assertThat(out.get(3)).isEqualTo(Tensors.get(inputs, "v").get(3));
      } else if (sq > sk + window) {
        assertThat(Tensors.get(outputs, "lse").get(sq - 1)).isEqualTo(Double.NEGATIVE_INFINITY);
      }
    }
  }

  /**
   * A column of k may hide keys by a large negative product. A query whose keys are all hidden gets
   * a mean of their values, as with any other finite mask.
   */
  @ParameterizedTest
  @CsvSource({"F32, -1e9", "F32, -3e38", "F16, -6e4", "BF16, -1e30"})
  void queriesWhoseKeysAreHiddenByLargeNumbersYieldNumbers(DType dtype, double hidden) {
    var inputs = inputs(dtype, 4, 150, 64, 8);
    for (int row = 0; row < 150; row++) {
      dtype.write(Tensors.get(inputs, "k").data(), row * 64L + 63, hidden);
    }
    for (int row = 0; row < 4; row++) {
      dtype.write(Tensors.get(inputs, "q").data(), row * 64L + 63, 1);
    }
    Runner.all(ATTENTION, inputs, Map.of(), "out")
        .forEach((kernel, out) ->
            assertThat(DoubleStream.of(out).boxed())
                .as(kernel)
                .allSatisfy(value -> assertThat(value).isFinite())
                .anySatisfy(value -> assertThat(value).isNotZero()));
  }

  /** A window as wide as all keys masks nothing, not even for queries before the first key. */
  @ParameterizedTest
  @ValueSource(ints = {100, Integer.MAX_VALUE})
  void wideWindowsMaskNothing(int window) {
    var inputs = inputs(DType.F32, 40, 20, 16, 16);
    var without = Runner.run(ATTENTION, inputs, Map.of(), "out");
    Tensors.equalBits(Runner.run(ATTENTION, inputs, Map.of("window", window), "out"), without);
  }

  /** A single query, and ragged tiles. */
  @ParameterizedTest
  @ValueSource(ints = {1, 16, 17, 19, 64})
  void computesF32(int s) {
    var within = Map.of("out", Tolerance.maximum(1e-5));
    Runner.verify(
        ATTENTION,
        List.of(
            new Op.Case(inputs(DType.F32, s, s, 32, 32), attributes(Map.of()), within),
            new Op.Case(
                inputs(DType.F32, s, s, 19, 19), attributes(Map.of("causal", true)), within)));
  }

  /** Values of Sq, Sk, D and Dv; the last have ragged tails and unaligned rows. */
  @ParameterizedTest
  @CsvSource({
    "16, 16, 16, 8",
    "32, 32, 32, 32",
    "64, 128, 64, 64",
    "64, 384, 64, 64",
    "16, 32, 16, 8",
    "64, 400, 64, 64",
    "17, 401, 15, 9"
  })
  void tensorKernelsNeedLittleSharedMemory(int sq, int sk, int d, int dv) {
    var inputs = inputs(DType.F16, sq, sk, d, dv);
    var expected = ATTENTION.reference(inputs, attributes(Map.of()));
    var plan = Runner.plans(ATTENTION, inputs, attributes(Map.of())).getFirst();
    assertThat(plan.requiredSharedMemory()).isLessThanOrEqualTo(46 * 1024);
    var out = Tensors.get(Runner.run(plan, inputs), "out").toDoubles();
    assertThat(
            AttentionProblem.tolerance(DType.F16)
                .error(out, AttentionReference.get(expected, "out")))
        .isLessThanOrEqualTo(2e-3);
  }

  @ParameterizedTest
  @CsvSource({"F32, false", "F32, true", "F16, false", "BF16, true"})
  void lseDoesNotChangeTheOutput(DType dtype, boolean causal) {
    var inputs = inputs(dtype, 67, 130, 32, 20);
    var without = Runner.plans(ATTENTION, inputs, attributes(Map.of("causal", causal)));
    var with =
        Runner.plans(ATTENTION, inputs, attributes(Map.of("causal", causal, "withLse", true)));
    assertThat(with).hasSameSizeAs(without);
    for (int i = 0; i < with.size(); i++) {
      var outputs = Runner.run(with.get(i), inputs);
      assertThat(outputs).containsOnlyKeys("out", "lse");
      Tensors.equalBits(
          Tensors.get(outputs, "out"), Tensors.get(Runner.run(without.get(i), inputs), "out"));
    }
  }

  @Test
  void lseNormalizesTheScores() {
    var inputs = inputs(DType.F32, 19, 33, 16, 8);
    var lse = Tensors.get(Runner.run(ATTENTION, inputs, Map.of("withLse", true)), "lse");
    var q = TensorReader.of(inputs, "q");
    var k = TensorReader.of(inputs, "k");
    var exact =
        AttentionReference.get(
            ATTENTION.reference(inputs, attributes(Map.of("withLse", true))), "lse");
    for (int row = 0; row < 19; row++) {
      assertThat(lse.get(row)).isCloseTo(exact[row], within(1e-5));
      double sum = 0;
      for (int key = 0; key < 33; key++) {
        sum += Math.exp(AttentionReference.dot(q, row, k, key, 16) / 4 - lse.get(row));
      }
      assertThat(sum).isCloseTo(1, within(1e-5));
    }
  }

  /** The result of a head does not depend on other heads and batches. */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16"})
  void headsAreBitIdenticalToSeparateRuns(DType dtype) {
    var draw = new Draw(new Random(7));
    int s = 35;
    int d = 16;
    var inputs =
        Map.of(
            "q", draw.normal(dtype, 2, 4, s, d),
            "k", draw.normal(dtype, 2, 2, s, d),
            "v", draw.normal(dtype, 2, 2, s, d));
    var given = attributes(Map.of("causal", true));
    var all = Runner.plans(ATTENTION, inputs, given);
    var one = TensorType.of(dtype, s, d);
    for (int head = 0; head < 8; head++) {
      int shared = head / 4 * 2 + head % 4 / 2;
      var alone =
          Map.of(
              "q", Tensors.slice(Tensors.get(inputs, "q"), (long) head * s * d, one),
              "k", Tensors.slice(Tensors.get(inputs, "k"), (long) shared * s * d, one),
              "v", Tensors.slice(Tensors.get(inputs, "v"), (long) shared * s * d, one));
      var out = Tensors.get(Runner.run(all.getFirst(), inputs), "out");
      var same =
          Runner.plans(ATTENTION, alone, given).stream()
              .filter(plan -> plan.kernel().equals(all.getFirst().kernel()))
              .findFirst()
              .orElseThrow();
      Tensors.equalBits(
          Tensors.slice(out, (long) head * s * d, one),
          Tensors.get(Runner.run(same, alone), "out"));
    }
  }

  @Test
  void rankThreeIsABatchOfSingleHeads() {
    var draw = new Draw(new Random(7));
    var of = TensorType.of(DType.F32, 3, 1, 9, 8);
    var inputs =
        Map.of(
            "q",
            draw.normal(DType.F32, 3, 9, 8),
            "k",
            draw.normal(DType.F32, 3, 9, 8),
            "v",
            draw.normal(DType.F32, 3, 9, 8));
    var out = Tensors.get(Runner.run(ATTENTION, inputs, Map.of()), "out");
    assertThat(out.type()).isEqualTo(TensorType.of(DType.F32, 3, 9, 8));
    var four =
        Map.of(
            "q", Tensors.slice(Tensors.get(inputs, "q"), 0, of),
            "k", Tensors.slice(Tensors.get(inputs, "k"), 0, of),
            "v", Tensors.slice(Tensors.get(inputs, "v"), 0, of));
    Tensors.equalBits(
        Tensors.slice(Tensors.get(Runner.run(ATTENTION, four, Map.of()), "out"), 0, out.type()),
        out);
  }

  /**
   * Without splits, 32 heads of 128 queries are 32 blocks of the largest tile on 132
   * multiprocessors.
   */
  @Test
  void splitsManyKeysToFillTheDevice() {
    var plan = (LaunchPlan) plan(DType.F16, 128, 32_768, 128);
    assertThat(plan.kernel()).endsWith("_split").doesNotContain("tensor_16x");
    assertThat(plan.steps().getFirst().grid().x())
        .isGreaterThanOrEqualTo(2 * TestDevices.H200.multiprocessors());
  }

  @Test
  void choosesSplitsForFewQueriesAndLargeTilesForMany() {
    assertThat(plan(DType.F16, 1, 4096, 128).kernel()).endsWith("16x64w16_split_packed");
    assertThat(plan(DType.F16, 4096, 4096, 128).kernel())
        .isEqualTo("attention_f16_d128_groups_128x128x2");
    assertThat(plan(DType.F32, 4096, 4096, 64).kernel())
        .isEqualTo("attention_f32_d64_cores_64x64w8");
    assertThat(plan(DType.F16, 1, 4096, 128).explain())
        .contains("splits to combine", "f16 uses tensor cores");
  }

  private static Plan plan(DType dtype, int sq, int sk, int d) {
    var inputs =
        Map.of(
            "q", TensorType.of(dtype, 1, 32, sq, d),
            "k", TensorType.of(dtype, 1, 8, sk, d),
            "v", TensorType.of(dtype, 1, 8, sk, d));
    return ATTENTION.plan(inputs, attributes(Map.of()), TestDevices.H200);
  }

  @Test
  void costsExcludeMaskedScores() {
    var inputs =
        Map.of(
            "q", TensorType.of(DType.F16, 10, 16),
            "k", TensorType.of(DType.F16, 12, 16),
            "v", TensorType.of(DType.F16, 12, 8));
    var given = attributes(Map.of("causal", true, "window", 4));
    var cost = ATTENTION.plan(inputs, given, TestDevices.H200).cost();
    // query 0 sees keys 0 to 2, the others 4 each
    assertThat(cost.flops()).isEqualTo(2.0 * (3 + 9 * 4) * (16 + 8));
    assertThat(cost.bytes()).isEqualTo(2.0 * (10 * 16 + 12 * 16 + 12 * 8 + 10 * 8));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[4, 577] | [4, 577] | [4, 8] | input \"q\" has shape [4, 577] with a head size"
            + " of 577; the maximum is 576",
        "[4, 8] | [4, 8] | [4, 600] | input \"v\" has shape [4, 600] with a head size of"
            + " 600; the maximum is 576",
        "[8] | [8] | [8] | input \"q\" has shape [8]; it must be [B, Hq, Sq, D] or [B,"
            + " Sq, D] or [Sq, D]",
        "[4, 8] | [2, 4, 8] | [4, 8] | input \"k\" has shape [2, 4, 8]; it must be [Sk, D]",
        "[4, 8] | [4, 9] | [4, 8] | k [4, 9] has D = 9 but q [4, 8] has D = 8; they must be equal",
        "[4, 8] | [4, 8] | [5, 8] | v [5, 8] has Sk = 5 but k [4, 8] has Sk = 4; they must be equal",
        "[2, 4, 8] | [3, 4, 8] | [2, 4, 8] | k [3, 4, 8] has B = 3 but q [2, 4, 8] has B = 2; they must be equal",
        "[1, 4, 4, 8] | [1, 2, 4, 8] | [1, 4, 4, 8] | v [1, 4, 4, 8] has Hkv = 4 but k [1, 2, 4, 8] has Hkv = 2; they must be equal",
        "[1, 4, 4, 8] | [1, 3, 4, 8] | [1, 3, 4, 8] | q [1, 4, 4, 8] has 4 heads and k"
            + " [1, 3, 4, 8] has 3; the number of query heads must be a multiple of the number"
            + " of key/value heads"
      })
  void rejectsInconsistentShapes(String q, String k, String v, String message) {
    var inputs = Map.of("q", type(q), "k", type(k), "v", type(v));
    assertThatThrownBy(() -> ATTENTION.plans(inputs, attributes(Map.of()), TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }

  public static TensorType type(String shape) {
    var extents =
        Pattern.compile("\\d+")
            .matcher(shape)
            .results()
            .mapToLong(digits -> Long.parseLong(digits.group()))
            .toArray();
    return TensorType.of(DType.F32, extents);
  }

  @Test
  void rejectsDifferentDtypes() {
    var inputs =
        Map.of(
            "q", TensorType.of(DType.F32, 4, 8),
            "k", TensorType.of(DType.F16, 4, 8),
            "v", TensorType.of(DType.F32, 4, 8));
    assertThatThrownBy(() -> ATTENTION.plans(inputs, attributes(Map.of()), TestDevices.H200))
        .isInstanceOf(OpException.UnsupportedDType.class)
        .hasMessage("k is f16 but q is f32; they must be the same");
  }

  @Test
  void rejectsAttributesOutOfRange() {
    assertRejected(
        Map.of("window", -1), "attribute \"window\" must be from 0 to 2147483647, got -1");
    assertRejected(Map.of("scale", 0), "attribute \"scale\" must be from 1.0E-6 to 1000000, got 0");
    assertRejected(
        Map.of("softcap", 1e-9), "attribute \"softcap\" must be 0 or at least 1.0E-6, got 1.0E-9");
  }

  private static void assertRejected(Map<String, ?> given, String message) {
    var types = HostTensor.types(inputs(DType.F32, 4, 4, 8, 8));
    assertThatThrownBy(() -> ATTENTION.plans(types, attributes(given), TestDevices.H200))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(message);
  }
}
