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
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Translates the kernels of all ops, for devices with and without subgroups of 32. */
class OpsShadersTest {

  private static final Target TARGET = new Target(70, false);
  private static final Capability CAPABILITY =
      new Capability("vulkan:0", "Vulkan", TARGET, "", 8, 1024, 32 << 10, 32 << 10, 4L << 30);

  /** Distance of the kernels that a normal build translates. */
  private static final int SAMPLED = 5;

  /** Distance of those, among them, that it validates. */
  private static final int VALIDATED = 8;

  private static final Map<String, Kernel> LEGAL = new LinkedHashMap<>();

  static List<String> ops() {
    return Catalogue.load().all().stream().map(op -> op.description().name()).toList();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void kernelsHaveValidShaders(String op) {
    var refusals = new TreeMap<String, String>();
    var steps = TestTier.sample(List.copyOf(steps(op).values()), SAMPLED);
    for (int i = 0; i < steps.size(); i++) {
      var step = steps.get(i);
      var kernel =
          LEGAL.computeIfAbsent(
              step.variant().name(),
              name ->
                  Legalizer.legalize(step.variant().build(), TARGET).kernel(name).orElseThrow());
      for (boolean subgroups : List.of(true, false)) {
        var features =
            new Features(subgroups, true, true, true, true, true, true, true, subgroups, 32 << 10);
        try {
          var shader = Translator.translate(kernel, step.block(), step.sharedBytes(), features);
          if (TestTier.current() != TestTier.QUICK || i % VALIDATED == 0) {
            SpirvVal.require(shader);
          }
        } catch (UnsupportedKernelException e) {
          refusals.put(kernel.name(), String.valueOf(e.getMessage()));
        }
      }
    }
    assertThat(refusals).isEmpty();
  }

  /** Returns the launches of the quick cases, one for each kernel and block. */
  private static Map<String, Step> steps(String name) {
    var op = Catalogue.load().find(name).orElseThrow();
    var found = new TreeMap<String, Step>();
    for (var each : op.cases(new SplittableRandom(1), true)) {
      var problem = new Problem(op, HostTensor.types(each.inputs()), each.attributes());
      try {
        for (var plan : problem.plans(CAPABILITY)) {
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
