package dev.athanor.ops.attention.prefill;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.profile.OpProfile;
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

/** Packing of few queries of several heads that share keys into one tile. */
@Tag(TestTier.THOROUGH_TAG)
class PackingTest {

  private static final Attention ATTENTION = new Attention();

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(ATTENTION.description(), given);
  }

  private static Map<String, TensorType> types(
      DType dtype, int batch, int heads, int group, int queries, int keys, int d) {
    return Map.of(
        "q", TensorType.of(dtype, batch, heads, queries, d),
        "k", TensorType.of(dtype, batch, heads / group, keys, d),
        "v", TensorType.of(dtype, batch, heads / group, keys, d));
  }

  private static List<LaunchPlan> plans(Map<String, TensorType> types, Attributes attributes) {
    return ATTENTION.plans(types, attributes, TestDevices.H200).stream()
        .map(LaunchPlan.class::cast)
        .toList();
  }

  private static boolean isPacked(LaunchPlan plan) {
    return plan.kernel().contains("_packed");
  }

  @ParameterizedTest
  @CsvSource({
    "F16, 8, 4, 1, 200, false, 0, bottom-right",
    "F16, 8, 8, 8, 200, false, 0, bottom-right",
    "F16, 8, 4, 3, 200, true, 0, bottom-right",
    "BF16, 8, 8, 7, 130, true, 0, bottom-right",
    "BF16, 10, 5, 5, 130, true, 70, bottom-right",
    "F16, 8, 4, 8, 130, false, 3, bottom-right",
    "F16, 8, 4, 6, 70, true, 0, top-left",
    "F16, 8, 4, 8, 5, true, 0, bottom-right",
    "F32, 8, 4, 2, 100, true, 40, bottom-right",
    "F32, 6, 6, 1, 100, false, 0, bottom-right"
  })
  void packedHeadsMatchTheReference(
      DType dtype,
      int heads,
      int group,
      int queries,
      int keys,
      boolean causal,
      int window,
      String alignment) {
    var draw = new Draw(new Random(5));
    var inputs = new HashMap<String, HostTensor>();
    types(dtype, 2, heads, group, queries, keys, 32)
        .forEach((name, type) -> inputs.put(name, draw.normal(0, 1, type)));
    var given =
        attributes(
            Map.of("causal", causal, "window", window, "alignment", alignment, "withLse", true));
    var exact = ATTENTION.reference(inputs, given);
    var packed = plans(HostTensor.types(inputs), given).stream().filter(PackingTest::isPacked);
    var tolerance = Tolerance.relative(dtype == DType.F32 ? 1e-5 : 1e-2);
    assertThat(packed.toList())
        .hasSizeGreaterThan(1)
        .allSatisfy(plan -> {
          var outputs = Runner.run(plan, inputs);
          for (var name : List.of("out", "lse")) {
            var error =
                tolerance.error(
                    Objects.requireNonNull(outputs.get(name)).toDoubles(),
                    Objects.requireNonNull(exact.get(name)));
            assertThat(error).as("%s of %s", name, plan.kernel()).isLessThan(tolerance.limit());
          }
        });
  }

  /** One block instead of eight reads the keys of eight heads, and uses all 64 rows of its tile. */
  @Test
  void readsKeysOncePerGroup() {
    var types = types(DType.F16, 1, 16, 8, 8, 512, 64);
    var plans = plans(types, attributes(Map.of("causal", true)));
    var tile = "tensor_64x64w16_causal";
    var before = plan(plans, "attention_f16_d64_" + tile);
    var after = plan(plans, "attention_f16_d64_" + tile + "_packed");
    assertThat(before.steps().getFirst().grid().x()).isEqualTo(16);
    assertThat(after.steps().getFirst().grid().x()).isEqualTo(2);
    var bytesBefore = OpProfile.run(before, types, Gpu.H200, Long.MAX_VALUE).launches().getFirst();
    var bytesAfter = OpProfile.run(after, types, Gpu.H200, Long.MAX_VALUE).launches().getFirst();
    double keysAndValues = 2.0 * 2 * 512 * 64 * 2;
    double queriesAndOut = 2.0 * 16 * 8 * 64 * 2;
    assertThat(bytesBefore.accessedBytes()).isEqualTo(8 * keysAndValues + queriesAndOut);
    assertThat(bytesAfter.accessedBytes()).isEqualTo(keysAndValues + queriesAndOut);
    assertThat(tensorFlops(bytesBefore)).isEqualTo(8 * tensorFlops(bytesAfter));
  }

  private static long tensorFlops(Profile profile) {
    return Objects.requireNonNull(profile.flops().get("tensor f16"));
  }

  private static LaunchPlan plan(List<LaunchPlan> plans, String kernel) {
    return plans.stream().filter(plan -> plan.kernel().equals(kernel)).findFirst().orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({"1, 4", "1, 8", "4, 4", "8, 8"})
  void packsFewQueriesOfSharedKeys(int queries, int group) {
    var types = types(DType.BF16, 4, 8 * group, group, queries, 8192, 128);
    assertThat(isPacked(plans(types, attributes(Map.of("causal", true))).getFirst())).isTrue();
  }

  @Test
  void doesNotPackUnsharedKeysOrManyQueries() {
    var own = plans(types(DType.F16, 1, 8, 1, 4, 512, 64), attributes(Map.of()));
    var many = plans(types(DType.F16, 1, 8, 4, 64, 512, 64), attributes(Map.of()));
    assertThat(own).noneMatch(PackingTest::isPacked);
    assertThat(many).noneMatch(PackingTest::isPacked);
  }
}
