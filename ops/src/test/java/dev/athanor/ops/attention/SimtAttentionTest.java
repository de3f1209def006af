package dev.athanor.ops.attention;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LedgerEntry;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Production;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Variant;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Attention of 16-bit elements on devices that have no {@code mma} for them. */
class SimtAttentionTest {

  private static final Target VOLTA = new Target(70, false);
  private static final List<String> OPS =
      List.of("attention", "attention-decode", "attention-backward");

  @ParameterizedTest
  @CsvSource({
    "F16, sm_70, cores",
    "F16, sm_75, tensor",
    "F16, sm_80, tensor",
    "BF16, sm_70, cores",
    "BF16, sm_75, cores",
    "BF16, sm_80, tensor",
    "BF16, sm_120, tensor",
    "F32, sm_70, cores",
    "F32, sm_90, cores"
  })
  void usesTensorCoresThatMultiplyTheDtype(DType dtype, String target, String unit) {
    var device = TestDevices.of(Target.of(target), 40, 65_536);
    for (var op : OPS) {
      var plans = problem(op, dtype, 300).plans(device);
      assertThat(plans)
          .as(op)
          .isNotEmpty()
          .allSatisfy(plan -> assertThat(plan.kernel()).contains("_d64_" + unit + "_"));
    }
    assertThat(problem("attention", dtype, 300).plans(device).getFirst().explain())
        .contains(
            "%s uses %s on %s"
                .formatted(
                    dtype.text(), unit.equals("cores") ? "CUDA cores" : "tensor cores", target));
  }

  private static Problem problem(String op, DType dtype, int length) {
    var q = "=%s[1,8,%d,64] ".formatted(dtype.text(), length);
    var k = "=%s[1,2,%d,64] ".formatted(dtype.text(), length);
    var text =
        switch (op) {
          case "attention" -> "q" + q + "k" + k + "v" + k;
          case "attention-decode" -> "q" + q + "kCache" + k + "vCache" + k + "lengths=i32[1]";
          default ->
              "grad"
                  + q
                  + "q"
                  + q
                  + "k"
                  + k
                  + "v"
                  + k
                  + "out"
                  + q
                  + "lse=f32[1,8,%d]".formatted(length);
        };
    return Problem.parse(Runner.op(op), text);
  }

  static Stream<Arguments> opsAndDTypes() {
    return OPS.stream()
        .flatMap(op -> Stream.of(DType.F16, DType.BF16).map(dtype -> Arguments.of(op, dtype)));
  }

  /** Runs each kernel of all cases once, and the first kernel of each case. */
  @ParameterizedTest
  @MethodSource("opsAndDTypes")
  @Tag(TestTier.THOROUGH_TAG)
  void kernelsMatchTheReference(String name, DType dtype) {
    var op = Runner.op(name);
    var options = EmulatorOptions.DEFAULT.withTarget(VOLTA).withSanitize(Sanitize.FULL);
    var kernels = new HashSet<String>();
    try (var device = new EmulatedDevice(options)) {
      var loaded = new KernelCache(device);
      for (var each : op.cases(new SplittableRandom(TestTier.seed()), false)) {
        if (Tensors.get(each.inputs(), "q").type().dtype() != dtype) {
          continue;
        }
        var exact = op.reference(each.inputs(), each.attributes());
        var plans =
            op.plans(HostTensor.types(each.inputs()), each.attributes(), device.capability());
        for (var plan : plans) {
          if (kernels.add(plan.kernel()) || plan.equals(plans.getFirst())) {
            HostRun.of(device, loaded, plan, each.inputs())
                .outputs()
                .forEach((output, actual) -> {
                  var tolerance = each.tolerance(output);
                  assertThat(
                          tolerance.error(
                              actual.toDoubles(), Objects.requireNonNull(exact.get(output))))
                      .as("%s of %s, seed %d", output, plan.kernel(), TestTier.seed())
                      .isLessThanOrEqualTo(tolerance.limit());
                });
          }
        }
      }
    }
    assertThat(kernels).hasSizeGreaterThan(1).allMatch(each -> each.contains("_cores_"));
  }

  static Stream<Arguments> opsAndGpus() {
    return OPS.stream()
        .flatMap(op -> Stream.of(Gpu.T4, Gpu.V100).map(gpu -> Arguments.of(op, gpu)));
  }

  @ParameterizedTest
  @MethodSource("opsAndGpus")
  @Tag(TestTier.THOROUGH_TAG)
  void kernelsOfProductionAssembleWithoutSpills(String name, Gpu gpu) {
    var op = Runner.op(name);
    var device = OpProfile.capability(gpu);
    var variants = new TreeMap<String, Variant>();
    for (var problem : Production.planned(op)) {
      if (AttentionProblem.input(problem.inputs(), "q").dtype() != DType.F32) {
        for (var plan : Production.plans(problem, device)) {
          plan.steps().forEach(step -> variants.put(step.variant().name(), step.variant()));
        }
      }
    }
    variants.keySet().removeIf(each -> !each.contains("_cores_"));
    assertThat(variants).isNotEmpty();
    var assembler = LedgerEntry.assembler(gpu.target());
    var spilled = new ConcurrentSkipListMap<String, Integer>();
    variants.values().parallelStream()
        .forEach(variant -> {
          var module = Legalizer.legalize(variant.build(), gpu.target());
          var usage = assembler.assemble(module.toString(), gpu.target()).of(variant.name());
          if (usage.spillStoreBytes() + usage.spillLoadBytes() > 0) {
            spilled.put(variant.name(), usage.spillStoreBytes());
          }
        });
    assertThat(spilled).as("bytes spilled for %s", gpu.target()).isEmpty();
  }
}
