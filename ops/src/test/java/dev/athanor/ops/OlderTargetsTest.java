package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Assembles what a T4 and a V100 run in production: kernels rewritten for Turing and Volta. */
@Tag(TestTier.THOROUGH_TAG)
class OlderTargetsTest {

  private static final boolean SWEEP = TestTier.current() == TestTier.SWEEP;

  /** Kernels of an op and a GPU that are assembled without the sweep. */
  private static final int SAMPLE = 2;

  static Stream<Arguments> opsAndGpus() {
    return OpsTest.ops().stream()
        .flatMap(op -> Stream.of(Gpu.T4, Gpu.V100).map(gpu -> Arguments.of(op, gpu)));
  }

  @ParameterizedTest
  @MethodSource("opsAndGpus")
  void firstChoicesAssembleWithoutSpills(String name, Gpu gpu) {
    var op = Catalogue.load().find(name).orElseThrow();
    var device = OpProfile.capability(gpu);
    var kernels = new TreeMap<String, Variant>();
    Production.planned(op).stream()
        .flatMap(problem -> Production.plans(problem, device).stream().limit(1))
        .flatMap(plan -> plan.steps().stream())
        .forEach(step -> kernels.put(step.variant().name(), step.variant()));
    assertThat(kernels).as("kernels of %s on a %s", name, gpu.name()).isNotEmpty();
    var assembler = LedgerEntry.assembler(gpu.target());
    var spilled = new ConcurrentSkipListMap<String, Integer>();
    kernels.values().parallelStream()
        .limit(SWEEP ? Long.MAX_VALUE : SAMPLE)
        .forEach(variant -> {
          var module = Legalizer.legalize(variant.build(), gpu.target());
          assertThat(gpu.target().canRun(module.target())).as(variant.name()).isTrue();
          Verifier.verify(module);
          var usage = assembler.assemble(module.toString(), gpu.target()).of(variant.name());
          if (usage.spillStoreBytes() > 0) {
            spilled.put(variant.name(), usage.spillStoreBytes());
          }
        });
    assertThat(spilled).as("bytes spilled for %s", gpu.target()).isEmpty();
  }
}
