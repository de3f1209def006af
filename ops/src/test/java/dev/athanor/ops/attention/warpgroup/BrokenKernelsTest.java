package dev.athanor.ops.attention.warpgroup;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Step;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Variant;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A kernel of warpgroups in which a fence, a wait, an arrival or a barrier is missing faults, is
 * reported, or gives another result.
 */
@Tag(TestTier.THOROUGH_TAG)
class BrokenKernelsTest {

  private static final List<String> SYNCHRONIZATION =
      List.of(
          "wgmma.fence",
          "wgmma.wait_group",
          "fence.",
          "mbarrier.",
          "bar.",
          "cp.async.bulk.commit_group",
          "cp.async.bulk.wait_group");

  /** Mutants that the emulator cannot tell from the kernel. */
  private static final List<String> UNNOTICED =
      List.of(
          // the emulator knows initialized mbarriers everywhere
          "fence.mbarrier_init.release.cluster",
          "fence.mbarrier_init.release.cluster",
          // the first stage of keys is free
          "mbarrier.try_wait.parity.shared::cta.b64",
          // in the loop, a second fence for the assembler
          "wgmma.fence.sync.aligned");

  /** A kernel without some consecutive statements. */
  private record Broken(Variant variant, int first, int count) implements Variant {

    @Override
    public String name() {
      return variant.name() + "_without_" + first;
    }

    @Override
    public Kernel build() {
      var kernel = variant.build();
      var body = new ArrayList<>(kernel.body());
      body.subList(first, first + count).clear();
      return kernel.withBody(body);
    }
  }

  private static LaunchPlan plan(Problem problem) {
    return problem.plans(TestDevices.SMALL).stream()
        .map(LaunchPlan.class::cast)
        .filter(plan -> plan.kernel().contains("_groups_"))
        .findFirst()
        .orElseThrow();
  }

  private static Stream<Broken> broken(Variant variant) {
    var body = variant.build().body();
    var all = new ArrayList<Broken>();
    for (int at = 0; at < body.size(); at++) {
      if (body.get(at) instanceof Instruction instruction && synchronizes(instruction)) {
        // a wait is repeated by the branch that follows it
        all.add(new Broken(variant, at, instruction.opcode().contains("try_wait") ? 2 : 1));
      }
    }
    return all.stream();
  }

  private static boolean synchronizes(Instruction instruction) {
    // TileStore is made for any number of tiles, of which there is one here
    return SYNCHRONIZATION.stream().anyMatch(instruction.opcode()::startsWith)
        && !instruction.source().file().equals("TileStore.java");
  }

  /** Returns the outputs; empty after a fault or a report. */
  private static Optional<Map<String, HostTensor>> run(
      LaunchPlan plan, Variant variant, AsyncTiming timing, Map<String, HostTensor> inputs) {
    var step = plan.steps().getFirst();
    var steps =
        List.of(new Step(variant, step.grid(), step.block(), step.sharedBytes(), step.arguments()));
    var changed =
        new LaunchPlan(
            variant.name(), plan.outputs(), steps, plan.workspaceBytes(), plan.cost(), "");
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(Target.SM_90A)
            .withSanitize(Sanitize.FULL)
            .withAsyncTiming(timing);
    try (var device = new EmulatedDevice(options)) {
      return Optional.of(HostRun.of(device, new KernelCache(device), changed, inputs).outputs());
    } catch (DeviceException e) {
      return Optional.empty();
    }
  }

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
    var plan = plan(problem);
    var variant = plan.steps().getFirst().variant();
    var right = run(plan, variant, AsyncTiming.LAZY, inputs).orElseThrow();
    var unnoticed = new ArrayList<String>();
    for (var broken : broken(variant).toList()) {
      boolean noticed =
          Stream.of(AsyncTiming.LAZY, AsyncTiming.EAGER)
              .anyMatch(timing ->
                  run(plan, broken, timing, inputs)
                      .filter(outputs -> equal(outputs, right))
                      .isEmpty());
      if (!noticed) {
        unnoticed.add(((Instruction) variant.build().body().get(broken.first)).opcode());
      }
    }
    assertThat(unnoticed).containsExactlyInAnyOrderElementsOf(UNNOTICED);
  }

  private static boolean equal(Map<String, HostTensor> a, Map<String, HostTensor> b) {
    return a.keySet().stream()
        .allMatch(name ->
            Arrays.equals(
                Tensors.bytes(Tensors.get(a, name)), Tensors.bytes(Tensors.get(b, name))));
  }
}
