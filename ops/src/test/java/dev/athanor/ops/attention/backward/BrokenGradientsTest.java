package dev.athanor.ops.attention.backward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Mutants;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.attention.AttentionSize;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A kernel of gradients in which a fence, a wait, an arrival or a barrier is missing faults, is
 * reported, or gives another result.
 */
@Tag(TestTier.THOROUGH_TAG)
class BrokenGradientsTest {

  /** Unnoticed: the emulator knows initialized mbarriers everywhere. */
  private static final String UNNOTICED = "fence.mbarrier_init.release.cluster";

  @ParameterizedTest
  @CsvSource({"1, false", "1, true", "2, false", "2, true"})
  void missingSynchronizationIsNoticed(int step, boolean causal) {
    int rows = 100;
    int columns = 300;
    var given = Map.of("causal", causal, "alignment", step == 1 ? "bottom-right" : "top-left");
    var size =
        step == 1
            ? AttentionSize.oneHead(rows, columns, 16, 16, given)
            : AttentionSize.oneHead(columns, rows, 16, 16, given);
    var each = BackwardCases.backward(new Draw(new Random(TestTier.seed())), size, DType.F16);
    var inputs = new HashMap<>(each.inputs());
    // where some rows see it
    var name = step == 1 ? "k" : "q";
    var tensor = Tensors.copy(Tensors.get(inputs, name));
    tensor.type().dtype().write(tensor.data(), 16L * (step == 1 ? 290 : 10), Double.NaN);
    inputs.put(name, tensor);
    var plan =
        new AttentionBackward()
            .plans(HostTensor.types(inputs), each.attributes(), TestDevices.SMALL).stream()
                .filter(one -> one.kernel().contains("_groups_"))
                .map(LaunchPlan.class::cast)
                .findFirst()
                .orElseThrow();
    var part =
        new LaunchPlan(
            plan.kernel(),
            plan.outputs(),
            List.of(plan.steps().getFirst(), plan.steps().get(step)),
            plan.workspaceBytes(),
            plan.cost(),
            plan.explain());
    var written = step == 1 ? List.of("dq") : List.of("dk", "dv");
    var right = Runner.run(part, inputs);
    var unnoticed = Mutants.unnoticed(part, inputs, outputs -> equal(written, outputs, right));
    // TileStore is made for any number of tiles, of which there is one here
    assertThat(unnoticed.stream().filter(one -> !one.contains("TileStore.java")))
        .map(one -> one.replaceAll("^\\d+: ([^ ;]+).*", "$1"))
        .containsExactly(UNNOTICED);
  }

  private static boolean equal(
      List<String> names, Map<String, HostTensor> a, Map<String, HostTensor> b) {
    return names.stream()
        .allMatch(name ->
            Arrays.equals(
                Tensors.bytes(Tensors.get(a, name)), Tensors.bytes(Tensors.get(b, name))));
  }
}
