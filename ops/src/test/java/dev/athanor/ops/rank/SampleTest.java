package dev.athanor.ops.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SampleTest {

  private static final double NAN = Double.NaN;
  private static final double INFINITY = Double.POSITIVE_INFINITY;
  private static final long SEED = 0x0123_4567_89AB_CDEFL;

  private static HostTensor longs(TensorType type, long... values) {
    var tensor = HostTensor.zeros(type);
    for (int i = 0; i < values.length; i++) {
      DType.I64.writeLong(tensor.data(), i, values[i]);
    }
    return tensor;
  }

  private static double[] sample(
      HostTensor logits, long seed, Map<String, Object> attributes, long... counters) {
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("logits", logits);
    if (counters.length == 0) {
      inputs.put("seed", longs(TensorType.of(DType.I64), seed));
    } else {
      var seeds = new long[counters.length];
      Arrays.fill(seeds, seed);
      inputs.put("seed", longs(TensorType.of(DType.I64, seeds.length), seeds));
      inputs.put("counter", longs(TensorType.of(DType.I64, counters.length), counters));
    }
    return Runner.run(Runner.op("sample"), inputs, attributes, "token").toDoubles();
  }

  /** Returns tokens at consecutive positions from one distribution. */
  private static double[] draw(int count, Map<String, Object> attributes, double... probabilities) {
    int n = probabilities.length;
    var logits =
        IntStream.range(0, count)
            .boxed()
            .flatMapToDouble(_ -> DoubleStream.of(probabilities).map(Math::log))
            .toArray();
    return sample(
        HostTensor.of(TensorType.of(DType.F32, count, n), logits),
        SEED,
        attributes,
        LongStream.range(0, count).toArray());
  }

  private static double[] distinct(Map<String, Object> attributes, double... probabilities) {
    return DoubleStream.of(draw(60, attributes, probabilities)).sorted().distinct().toArray();
  }

  /** The vectors are those of kat_vectors in Random123, which the paper publishes. */
  @Test
  void philoxReturnsTheKnownAnswers() {
    assertThat(Philox.words(new int[4], new int[2]))
        .containsExactly(0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8);
    assertThat(Philox.words(new int[] {-1, -1, -1, -1}, new int[] {-1, -1}))
        .containsExactly(0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD);
    assertThat(
            Philox.words(
                new int[] {0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344},
                new int[] {0xA409_3822, 0x299F_31D0}))
        .containsExactly(0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1);
  }

  private static Attributes attributes(Map<String, Object> given) {
    return Attributes.of(Runner.op("sample").description(), given);
  }

  private static double gumbel(int word) {
    double u = (Integer.toUnsignedLong(word) + 0.5) * 0x1p-32;
    return -Math.log(-Math.log(u));
  }

  @Test
  void gumbelNumbersAreAccurate() {
    var words =
        IntStream.concat(
            IntStream.of(0, 1, 2, -1, -2, 0x3FFF_FFFF, 0x4000_0000, 0xBFFF_FFFF, 0xC000_0000),
            new Random(1).ints(100_000));
    assertThat(words)
        .allSatisfy(word ->
            assertThat((double) ExactMath.gumbel(word))
                .as("word %08x", word)
                .isCloseTo(gumbel(word), within(4e-6)));
  }

  @Test
  void weightsAreAccurate() {
    assertThat(ExactMath.weight(0)).isEqualTo(1L << 32);
    assertThat(ExactMath.weight(Float.NaN)).isZero();
    assertThat(ExactMath.weight(Float.NEGATIVE_INFINITY)).isZero();
    for (float x = 0; x > -30; x -= 0.01f) {
      assertThat(ExactMath.weight(x) * 0x1p-32)
          .isCloseTo(Math.exp(x), within(3e-7 * Math.exp(x) + 0x1p-32));
    }
  }

  /** Float64 agrees that the token has the greatest score, up to rounding. */
  @Test
  void tokensHaveTheGreatestScores() {
    int rows = 50;
    int n = 1001;
    var logits = new Draw(new Random(3)).normal(DType.F32, rows, n);
    var counters = LongStream.range(1L << 35, (1L << 35) + rows).toArray();
    var tokens = sample(logits, SEED, Map.of("temperature", 0.8), counters);
    for (int row = 0; row < rows; row++) {
      var scores = new double[n];
      for (int i = 0; i < n; i++) {
        int[] position = {i / 4, 0, (int) counters[row], (int) (counters[row] >>> 32)};
        int[] key = {(int) SEED, (int) (SEED >>> 32)};
        scores[i] =
            logits.get((long) row * n + i) / 0.8 + gumbel(Philox.words(position, key)[i % 4]);
      }
      assertThat(scores[(int) tokens[row]])
          .isCloseTo(Arrays.stream(scores).max().orElseThrow(), within(1e-5));
    }
  }

  @Test
  void tokensFollowTheDistribution() {
    double[] probabilities = {0.4, 0.25, 0.15, 0.1, 0.05, 0.03, 0.015, 0.005};
    int count = 10_000;
    var logits = DoubleStream.of(probabilities).map(p -> (float) Math.log(p)).toArray();
    var settings = SampleOp.Settings.of(attributes(Map.of()), logits.length);
    var tokens =
        IntStream.range(0, count)
            .mapToDouble(i -> SampleReference.token(logits, settings, SEED, i))
            .toArray();
    assertThat(draw(100, Map.of(), probabilities)).isEqualTo(Arrays.copyOf(tokens, 100));
    double chiSquare = 0;
    for (int token = 0; token < probabilities.length; token++) {
      double expected = count * probabilities[token];
      int is = token;
      double off = DoubleStream.of(tokens).filter(each -> each == is).count() - expected;
      chiSquare += off * off / expected;
    }
    // the 0.999 quantile for 7 degrees of freedom
    assertThat(chiSquare).isLessThan(24.32);
  }

  @Test
  void aRowDoesNotDependOnTheBatch() {
    var batch = new Draw(new Random(5)).normal(DType.BF16, 3, 500);
    for (var given : List.<Map<String, Object>>of(Map.of(), Map.of("topK", 40, "topP", 0.9))) {
      var tokens = sample(batch, SEED, given, 7, 8, 9);
      for (int row = 0; row < 3; row++) {
        var alone =
            HostTensor.of(TensorType.of(DType.BF16, 1, 500), batch.toDoubles(row * 500L, 500));
        assertThat(sample(alone, SEED, given, 7 + row)).containsExactly(tokens[row]);
      }
    }
  }

  @Test
  void rowsWithEqualSeedsAndCountersGetEqualTokens() {
    var logits = HostTensor.zeros(TensorType.of(DType.F32, 4, 300));
    assertThat(sample(logits, SEED, Map.of()))
        .containsOnly(sample(logits, SEED, Map.of(), 0, 1, 2, 3)[0]);
    assertThat(sample(logits, SEED, Map.of(), 1, 2, 3, 4)).doesNotHaveDuplicates();
    assertThat(sample(logits, SEED + (1L << 32), Map.of(), 1, 2, 3, 4))
        .doesNotContain(sample(logits, SEED, Map.of(), 1, 2, 3, 4));
  }

  @Test
  void filtersKeepTheMostProbableTokens() {
    double[] p = {0.1, 0.5, 0.15, 0.25};
    assertThat(distinct(Map.of(), p)).containsExactly(0, 1, 2, 3);
    assertThat(distinct(Map.of("topK", 3), p)).containsExactly(1, 2, 3);
    assertThat(distinct(Map.of("topP", 0.7), p)).containsExactly(1, 3);
    assertThat(distinct(Map.of("topP", 0.8), p)).containsExactly(1, 2, 3);
    assertThat(distinct(Map.of("topP", 0), p)).containsExactly(1);
    assertThat(distinct(Map.of("minP", 0.28), p)).containsExactly(1, 2, 3);
    assertThat(distinct(Map.of("minP", 0.32), p)).containsExactly(1, 3);
    assertThat(distinct(Map.of("minP", 0.32, "topK", 3), p)).containsExactly(1, 3);
  }

  /** Of the two tokens that topK keeps, the first has a probability of 2/3. */
  @Test
  void topPAppliesToTheProbabilitiesAfterTopKAndTemperature() {
    double[] p = {0.1, 0.5, 0.15, 0.25};
    assertThat(distinct(Map.of("topK", 2, "topP", 0.6), p)).containsExactly(1);
    assertThat(distinct(Map.of("topK", 2, "topP", 0.7), p)).containsExactly(1, 3);
    assertThat(distinct(Map.of("topK", 2, "topP", 0.7, "temperature", 0.5), p)).containsExactly(1);
  }

  @Test
  void temperatureZeroReturnsTheFirstGreatestLogit() {
    var logits =
        HostTensor.of(TensorType.of(DType.F32, 3, 4), 1, 3, 3, 2, -0.0, 0, -1, -2, 1, NAN, 5, NAN);
    assertThat(sample(logits, SEED, Map.of("temperature", 0, "topK", 2, "topP", 0.5)))
        .containsExactly(1, 0, 1);
  }

  @Test
  void maskedTokensAreNeverDrawn() {
    var logits = HostTensor.of(TensorType.of(DType.F16, 1, 4), -INFINITY, 1, -INFINITY, -INFINITY);
    for (var given :
        List.<Map<String, Object>>of(
            Map.of(), Map.of("topK", 3), Map.of("topP", 0.9), Map.of("minP", 0.1))) {
      assertThat(sample(logits, SEED, given)).containsExactly(1);
    }
  }

  @Test
  void sortsOnlyForTopKAndTopP() {
    assertThat(launches(Map.of("minP", 0.1))).isEqualTo(1);
    assertThat(launches(Map.of("topK", 128_256))).isEqualTo(1);
    assertThat(launches(Map.of("topK", 50, "topP", 0.9))).isEqualTo(4);
    assertThat(launches(Map.of("topP", 0.9, "temperature", 0))).isEqualTo(1);
  }

  private static int launches(Map<String, Object> attributes) {
    var types =
        Map.of(
            "logits", TensorType.of(DType.F16, 64, 128_256), "seed", TensorType.of(DType.I64, 64));
    var plan = Runner.plans(Runner.op("sample"), types, attributes).getFirst();
    return ((LaunchPlan) plan).steps().size();
  }

  @Test
  void rejectsOtherNumbersOfSeeds() {
    var logits = HostTensor.zeros(TensorType.of(DType.F32, 2, 5));
    assertThatThrownBy(() -> sample(logits, SEED, Map.of(), 1, 2, 3))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage("seed [3] has B = 3 but logits [2, 5] has B = 2; they must be equal");
  }

  private static double greatest(HostTensor logits, int[] counts, Map<String, Object> penalties) {
    var given = new HashMap<String, Object>(penalties);
    given.put("temperature", 0);
    var inputs =
        Map.of(
            "logits", logits,
            "seed", longs(TensorType.of(DType.I64), SEED),
            "counts",
                HostTensor.of(
                    TensorType.of(DType.I32, 1, counts.length),
                    IntStream.of(counts).asDoubleStream().toArray()));
    return Runner.run(Runner.op("sample"), inputs, given, "token").get(0);
  }

  /** The logits are 4, 3, 2 and 1, and the first two tokens occurred. */
  @Test
  void penalizesTokensThatOccurred() {
    var logits = HostTensor.of(TensorType.of(DType.BF16, 1, 4), 4, 3, 2, 1);
    int[] counts = {3, 1, 0, 0};
    assertThat(greatest(logits, counts, Map.of())).isZero();
    assertThat(greatest(logits, counts, Map.of("repetitionPenalty", 1.9))).isZero();
    assertThat(greatest(logits, counts, Map.of("repetitionPenalty", 2.1))).isEqualTo(2);
    assertThat(greatest(logits, counts, Map.of("frequencyPenalty", 0.6))).isEqualTo(1);
    assertThat(greatest(logits, counts, Map.of("presencePenalty", 1.9))).isZero();
    assertThat(greatest(logits, counts, Map.of("presencePenalty", 2.1))).isEqualTo(2);
    // 4 / 2 - 3 · 0.5 - 0.25 = 0.25 and 3 / 2 - 0.5 - 0.25 = 0.75; negative counts are no
    // occurrences
    var all =
        Map.<String, Object>of(
            "repetitionPenalty", 2, "frequencyPenalty", 0.5, "presencePenalty", 0.25);
    var two = HostTensor.of(TensorType.of(DType.BF16, 1, 3), 4, 3, 0.5);
    assertThat(greatest(two, new int[] {3, 1, -2}, all)).isEqualTo(1);
  }

  @Test
  void aRepetitionPenaltyMultipliesNegativeLogits() {
    var logits = HostTensor.of(TensorType.of(DType.F32, 1, 2), -1, -1.5);
    var penalty = Map.<String, Object>of("repetitionPenalty", 2);
    assertThat(greatest(logits, new int[] {1, 0}, penalty)).isEqualTo(1);
    assertThat(greatest(logits, new int[] {0, 1}, penalty)).isZero();
  }

  @Test
  void rejectsPenaltiesWithoutCounts() {
    var logits = HostTensor.zeros(TensorType.of(DType.F32, 2, 5));
    assertThatThrownBy(() -> sample(logits, SEED, Map.of("presencePenalty", 0.5)))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(
            "attribute \"presencePenalty\" is 0.5 but input \"counts\" is missing; include the"
                + " counts of the tokens, or omit the attribute");
    assertThatThrownBy(() -> sample(logits, SEED, Map.of("repetitionPenalty", 0)))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("attribute \"repetitionPenalty\" is 0.0; it must be from 1e-6 to 1e6");
  }

  @Test
  void rejectsTemperaturesThatOverflow() {
    var logits = HostTensor.zeros(TensorType.of(DType.F32, 2, 5));
    assertThatThrownBy(() -> sample(logits, SEED, Map.of("temperature", 1e-9)))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("attribute \"temperature\" is 1.0E-9; it must be 0, or from 1e-6 to 1e6");
  }
}
