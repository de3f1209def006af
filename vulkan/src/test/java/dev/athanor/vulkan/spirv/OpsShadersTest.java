package dev.athanor.vulkan.spirv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Step;
import dev.athanor.testing.TestTier;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Translates the kernels that planners choose from for devices with all features, or few. */
class OpsShadersTest {

  private static final Target TARGET = new Target(70, false);
  private static final ShaderFeatures SUBGROUPS =
      new ShaderFeatures(true, true, true, true, true, true, true, true, true, Set.of(), 48 << 10);

  private static final ShaderFeatures SHARED_LANES =
      new ShaderFeatures(
          false, true, true, true, true, true, true, true, false, Set.of(), 32 << 10);

  private static final ShaderFeatures MATRICES =
      new ShaderFeatures(
          true,
          true,
          true,
          true,
          true,
          true,
          true,
          true,
          true,
          Set.of(CooperativeProduct.USUAL),
          48 << 10);

  /** What Vulkan 1.3 and this library require of all devices. */
  private static final ShaderFeatures FEWEST =
      new ShaderFeatures(
          false, false, false, false, false, false, false, true, false, Set.of(), 32 << 10);

  /** Distance of the kernels that a normal build translates. */
  private static final int SAMPLED = 12;

  /** Distance of those, among the translated, that other builds than the sweep validate. */
  private static final int VALIDATED = 8;

  /** The limit for a shader: drivers for CPUs take minutes to compile larger ones. */
  private static final int MOST_WORDS = 250_000;

  private static final Map<String, Kernel> LEGAL = new LinkedHashMap<>();

  static List<String> ops() {
    return Catalogue.load().all().stream().map(op -> op.description().name()).toList();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void kernelsHaveValidShaders(String op) {
    var refusals = new TreeMap<String, String>();
    for (var features : List.of(SUBGROUPS, SHARED_LANES, FEWEST)) {
      var steps = TestTier.sample(List.copyOf(steps(op, features).values()), SAMPLED);
      for (int i = 0; i < steps.size(); i++) {
        var step = steps.get(i);
        var kernel = legal(step);
        try {
          var shader = Translator.translate(kernel, step.block(), step.sharedBytes(), features);
          assertThat(shader.code().remaining() / Integer.BYTES)
              .as("words of %s", kernel.name())
              .isLessThan(MOST_WORDS);
          assertThat(shader.sharedBytes())
              .as("shared memory of %s", kernel.name())
              .isLessThanOrEqualTo(features.sharedBytes());
          if (TestTier.current() == TestTier.SWEEP || i % VALIDATED == 0) {
            SpirvVal.require(shader);
          }
        } catch (UnsupportedKernelException e) {
          refusals.put(kernel.name(), String.valueOf(e.getMessage()));
        }
      }
    }
    assertThat(refusals).isEmpty();
  }

  @Test
  void productsOfF16UseCooperativeMatrices() {
    var steps = List.copyOf(steps("matmul", MATRICES).values());
    var shaders =
        steps.stream()
            .filter(step -> step.variant().name().contains("wmma"))
            .map(step ->
                Translator.translate(legal(step), step.block(), step.sharedBytes(), MATRICES))
            .toList();
    assertThat(shaders).hasSizeGreaterThan(5);
    TestTier.sample(shaders, SAMPLED).forEach(SpirvVal::requireWithMatrices);
  }

  private static Kernel legal(Step step) {
    return LEGAL.computeIfAbsent(
        step.variant().name(),
        name -> Legalizer.legalize(step.variant().build(), TARGET).kernel(name).orElseThrow());
  }

  /** Returns the launches of the quick cases on a device, one for each kernel and block. */
  private static Map<String, Step> steps(String name, ShaderFeatures features) {
    int shared = features.sharedBytes();
    var device =
        new Capability(
            "vulkan:0",
            "Vulkan",
            TARGET,
            "",
            8,
            1024,
            shared,
            shared,
            4L << 30,
            features.capability());
    var op = Catalogue.load().find(name).orElseThrow();
    var found = new TreeMap<String, Step>();
    for (var each : op.cases(new SplittableRandom(1), true)) {
      var problem = new Problem(op, HostTensor.types(each.inputs()), each.attributes());
      try {
        for (var plan : problem.plans(device)) {
          if (plan instanceof LaunchPlan launches) {
            launches.steps().forEach(step -> found.put(step.variant().name() + step.block(), step));
          }
        }
      } catch (OpException e) {
        // the device does not support the case
      }
    }
    return found;
  }
}
