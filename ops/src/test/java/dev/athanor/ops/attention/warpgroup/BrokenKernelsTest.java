package dev.athanor.ops.attention.warpgroup;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A kernel of warpgroups in which a fence, a wait, an arrival or a barrier is missing faults, is
 * reported, or gives another result.
 */
@Tag(TestTier.THOROUGH_TAG)
class BrokenKernelsTest {

  /** Instructions whose absence the emulator cannot notice. */
  private static final List<String> UNNOTICED =
      List.of(
          // the emulator knows initialized mbarriers everywhere
          "fence.mbarrier_init.release.cluster",
          "fence.mbarrier_init.release.cluster",
          // the first stage of keys is free
          "mbarrier.try_wait.parity.shared::cta.b64",
          // in the loop, a second fence for the assembler
          "wgmma.fence.sync.aligned");

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void missingSynchronizationIsNoticed(boolean causal) {
    var problem =
        Problem.parse(
            Runner.op("attention"),
            "q=f16[190,72] k=f16[600,72] v=f16[600,72] withLse=true causal=" + causal);
    var inputs = problem.draw(new SplittableRandom(TestTier.seed()));
    var v = Tensors.get(inputs, "v");
    v.type().dtype().write(v.data(), 72L * 590, Double.POSITIVE_INFINITY);
    var plan =
        problem.plans(TestDevices.SMALL).stream()
            .map(LaunchPlan.class::cast)
            .filter(each -> each.kernel().contains("_groups_"))
            .findFirst()
            .orElseThrow();
    var right = Runner.run(plan, inputs);
    var unnoticed = Mutants.unnoticed(plan, inputs, outputs -> equal(outputs, right));
    // TileStore is made for any number of tiles, of which there is one here
    assertThat(unnoticed.stream().filter(each -> !each.contains("TileStore.java")))
        .map(each -> each.replaceAll("^\\d+: ([^ ;]+).*", "$1"))
        .containsExactlyInAnyOrderElementsOf(UNNOTICED);
  }

  private static boolean equal(Map<String, HostTensor> a, Map<String, HostTensor> b) {
    return a.keySet().stream()
        .allMatch(name ->
            Arrays.equals(
                Tensors.bytes(Tensors.get(a, name)), Tensors.bytes(Tensors.get(b, name))));
  }
}
