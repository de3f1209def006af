package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the ops of the example plugin like those of the library. */
@Tag(TestTier.THOROUGH_TAG)
class PluginOpsTest {

  private static final List<Target> TARGETS = List.of(Target.SM_80, Target.SM_89, Target.SM_90);
  private static final List<String> NAMES =
      List.of(
          "clip", "log-softmax", "squared-distances", "row-softmax", "row-max-pool", "column-sum");
  private static final Capability DEVICE = OpProfile.capability(Gpu.H200);

  @TempDir private static Path folder;
  private static List<Op> ops = List.of();

  @BeforeAll
  static void load() throws IOException {
    ops = ExamplePlugin.ops(ExamplePlugin.pack(folder));
  }

  private static Op op(String name) {
    return ops.stream()
        .filter(op -> op.description().name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void pluginHasTheOps() {
    assertThat(ops).extracting(op -> op.description().name()).containsExactlyElementsOf(NAMES);
  }

  static Stream<Arguments> runs() {
    return NAMES.stream()
        .flatMap(name ->
            Stream.of(
                Arguments.of(name, AsyncTiming.LAZY, Target.SM_90, false),
                Arguments.of(name, AsyncTiming.EAGER, Target.SM_80, true),
                Arguments.of(name, AsyncTiming.REORDERED, Target.SM_89, true)));
  }

  /** Compares every kernel with float64 on every case, under the sanitizer. */
  @ParameterizedTest
  @MethodSource("runs")
  void everyVariantIsCorrect(String name, AsyncTiming timing, Target target, boolean quick) {
    var options =
        EmulatorOptions.DEFAULT
            .withAsyncTiming(timing)
            .withTarget(target)
            .withSanitize(Sanitize.FULL);
    var checks = new ArrayList<Check>();
    try (var device = new EmulatedDevice(options)) {
      var verification = new Verification(device, List.of(op(name)), quick, 1, OptionalInt.empty());
      assertThat(verification.run(checks::add)).isEqualTo(verification.size());
      assertThat(verification.skipped()).isEmpty();
    }
    assertThat(checks).isNotEmpty();
    assertThat(checks).allSatisfy(check -> assertThat(check.failure()).isEmpty());
  }

  static List<String> names() {
    return NAMES;
  }

  /** Assembles each kernel for one of the targets, in turn. */
  @ParameterizedTest
  @MethodSource("names")
  void kernelsAssembleWithoutSpills(String name) {
    // the older compiler that JCuda includes spills
    var assembler = Programs.require(Ptxas.find(), "ptxas", "install a CUDA toolkit");
    var kernels = kernels(op(name));
    assertThat(kernels).isNotEmpty();
    IntStream.range(0, kernels.size())
        .parallel()
        .forEach(turn -> {
          var kernel = kernels.get(turn).build();
          var module = Module.of(kernel);
          var next = TARGETS.get(turn % TARGETS.size());
          var target = next.canRun(module.target()) ? next : module.target();
          var usage = assembler.assemble(module.toString(), target).of(kernel.name());
          assertThat(usage.spillStoreBytes() + usage.spillLoadBytes() + usage.stackBytes())
              .as("bytes spilled by %s for %s", kernel.name(), target)
              .isZero();
        });
  }

  /** Returns the distinct kernels of the cases of an op, and checks that their names are unique. */
  private static List<Variant> kernels(Op op) {
    var kernels = new TreeMap<String, Variant>();
    for (var each : op.cases(new SplittableRandom(1), false)) {
      for (var plan : op.plans(HostTensor.types(each.inputs()), each.attributes(), DEVICE)) {
        for (var step : ((LaunchPlan) plan).steps()) {
          var known = kernels.putIfAbsent(step.variant().name(), step.variant());
          assertThat(known == null || known.equals(step.variant())).isTrue();
        }
      }
    }
    return List.copyOf(kernels.values());
  }

  @Test
  void casesOfSquaredDistancesCoverAllTilesAndAlignments() {
    var names = kernels(op("squared-distances")).stream().map(Variant::name).toList();
    assertThat(names.stream().map(name -> name.replaceFirst(".*f16_(\\d+x\\d+x\\d+x\\d+).*", "$1")))
        .contains(
            "128x256x32x4",
            "128x128x64x3",
            "128x128x32x3",
            "128x64x32x4",
            "64x128x32x4",
            "64x64x32x3",
            "32x64x32x4",
            "16x128x64x4");
    for (var part : List.of("_a2_", "_a4_", "_a8_", "_a16_", "_c4", "_c8", "_c16")) {
      assertThat(names).as(part).anyMatch(name -> name.contains(part));
    }
  }

  @Test
  void squaredDistancesRejectsInvalidInputs() {
    var op = op("squared-distances");
    var none = Attributes.of(op.description(), Map.of());
    assertThatThrownBy(() ->
            op.plans(
                Map.of("a", TensorType.of(DType.F16, 4, 8), "b", TensorType.of(DType.F16, 4, 9)),
                none,
                DEVICE))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage("a has shape [4, 8] and b [4, 9]; they must be [M, K] and [N, K]");
    assertThatThrownBy(() ->
            op.plans(
                Map.of("a", TensorType.of(DType.F16, 4, 8), "b", TensorType.of(DType.BF16, 4, 8)),
                none,
                DEVICE))
        .isInstanceOf(OpException.UnsupportedDType.class)
        .hasMessage("a is f16 but b is bf16; they must be the same");
  }

  /** Rounding alone would make some distances of points to themselves negative. */
  @Test
  void squaredDistancesAreNotNegative() {
    var op = op("squared-distances");
    var points = new Draw(new SplittableRandom(1)).normal(DType.F16, 100, 12);
    var inputs = Map.of("a", points, "b", points);
    var plan = op.plan(HostTensor.types(inputs), Attributes.of(op.description(), Map.of()), DEVICE);
    try (var device = new EmulatedDevice()) {
      var run = HostRun.of(device, new KernelCache(device), plan, inputs);
      var distances = Objects.requireNonNull(run.outputs().get("c")).toDoubles();
      assertThat(distances).hasSize(10_000);
      assertThat(DoubleStream.of(distances)).allMatch(each -> each >= 0);
    }
  }
}
