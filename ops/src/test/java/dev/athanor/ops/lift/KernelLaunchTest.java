package dev.athanor.ops.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.run.HostRun;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ops from several kernels in Java, which pass results through temporary tensors. */
class KernelLaunchTest {
  private static final Capability DEVICE = OpProfile.capability(Gpu.H200);

  /** The numbers that a block of the test kernels adds. */
  private static final int PART = 64;

  /** Returns an op that adds numbers in two launches. */
  private static KernelOpBuilder total() {
    return KernelOp.named("total")
        .summary("Adds all numbers.")
        .kernel(DType.F32, Kernels.of(TestKernels::partialFloats))
        .kernel(DType.F64, Kernels.of(TestKernels::partialDoubles))
        .input("x", "[N]", "numbers")
        .temporary("partial", "[B]")
        .attribute(Attribute.number("scale", 1, "factor"))
        .define("B", sizes -> Math.ceilDiv(sizes.size("N"), PART))
        .define("one", _ -> 1)
        .grid("B")
        .nextLaunch()
        .kernel(DType.F32, Kernels.of(TestKernels::totalFloats))
        .kernel(DType.F64, Kernels.of(TestKernels::totalDoubles))
        .argument("partial")
        .output("y", "[1]", "the sum")
        .argument("B")
        .grid("one")
        .block(Dim3.of(32))
        .reference((sizes, inputs) ->
            Map.of(
                "y",
                new double[] {
                  sizes.attributes().number("scale") * DoubleStream.of(inputs.get("x")).sum()
                }));
  }

  /** Returns an op that replaces numbers by their running sums, in three launches. */
  private static KernelOp runningSums() {
    return KernelOp.named("running-sums")
        .summary("Replaces numbers by the sums of all numbers up to them.")
        .kernel(DType.F32, Kernels.of(TestKernels::sumParts))
        .argument("x")
        .temporary("sums", "[B]", DType.F64)
        .define("B", sizes -> Math.ceilDiv(sizes.size("N"), PART))
        .define("one", _ -> 1)
        .nextLaunch()
        .kernel(DType.F32, Kernels.of(TestKernels::scanParts))
        .optional("first", "[1]", "added to all sums")
        .argument("sums")
        .grid("one")
        .nextLaunch()
        .kernel(DType.F32, Kernels.of(TestKernels::scanElements))
        .argument("sums")
        .update("x", "y", "[N]", "the numbers")
        .grid("B")
        .reference((_, inputs) -> {
          var y = inputs.get("x").clone();
          y[0] += inputs.has("first") ? inputs.get("first")[0] : 0;
          Arrays.parallelPrefix(y, Double::sum);
          return Map.of("y", y);
        })
        .op();
  }

  private static Attributes defaults(Op op) {
    return Attributes.of(op.description(), Map.of());
  }

  private static LaunchPlan plan(KernelOp op, TensorType x) {
    return (LaunchPlan) op.plan(Map.of("x", x), defaults(op), DEVICE);
  }

  private static EmulatedDevice sanitizer() {
    return new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void launchesMatchTheReference(boolean hasCases) {
    var total = hasCases ? total().cases("N=1", "N=64", "N=65", "N=9999 scale=-2") : total();
    var checks = new ArrayList<Check>();
    try (var device = sanitizer()) {
      var ops = List.of(total.op(), runningSums());
      new Verification(device, ops, false, 1, OptionalInt.empty()).run(checks::add);
    }
    assertThat(checks)
        .flatExtracting(check -> check.inputs().values())
        .extracting(TensorType::dtype)
        .contains(DType.F32, DType.F64);
    assertThat(checks)
        .extracting(check -> check.inputs().keySet())
        .contains(Set.of("x"), Set.of("x", "first"));
    assertThat(checks).allSatisfy(check -> assertThat(check.failure()).isEmpty());
  }

  @Test
  void planHasAStepForEachLaunch() {
    var plan = plan(total().op(), TensorType.of(DType.F64, 1000));
    assertThat(plan.kernel()).isEqualTo("partialDoubles_totalDoubles");
    assertThat(plan.explain()).contains("16x1x1 blocks of 32x1x1 threads, then 1x1x1 blocks");
    assertThat(plan.steps())
        .extracting(step -> step.variant().name(), step -> step.grid().x())
        .containsExactly(tuple("partialDoubles", 16), tuple("totalDoubles", 1));
  }

  /** Each temporary tensor begins at a multiple of 256 bytes, as buffers do. */
  @Test
  void temporariesShareTheWorkspace() {
    var op =
        total()
            .nextLaunch()
            .kernel(DType.F32, Kernels.of(TestKernels::partialFloats))
            .kernel(DType.F64, Kernels.of(TestKernels::partialDoubles))
            .argument("partial")
            .temporary("other", "[N]")
            .argument("scale")
            .op();
    var plan = plan(op, TensorType.of(DType.F32, 130));
    assertThat(plan.workspaceBytes()).isEqualTo(256 + 768);
    var last = plan.steps().getLast();
    assertThat(last.arguments().slots().values())
        .startsWith(new Slot.Workspace(0), new Slot.Workspace(256))
        .endsWith(Slot.of(3), Slot.of(130));
    assertThat(last.grid()).as("a thread for each element of \"other\"").isEqualTo(Dim3.of(5));
    assertThat(plan(op, TensorType.of(DType.F64, 130)).workspaceBytes()).isEqualTo(256 + 1280);
  }

  @Test
  void descriptionHasNoTemporaries() {
    var description = total().op().description();
    assertThat(description.formula())
        .isEqualTo("as in TestKernels.partialFloats and TestKernels.totalFloats");
    assertThat(description.inputs()).extracting(each -> each.name()).containsExactly("x");
    assertThat(description.outputs()).extracting(each -> each.name()).containsExactly("y");
    assertThat(description.outputs().getFirst().dtype()).isEqualTo("same as x");
    assertThat(description.inputs().getFirst().dtypes())
        .containsExactlyInAnyOrder(DType.F32, DType.F64);
  }

  @Test
  void theLastLaunchCanUpdateInPlace() {
    var op = runningSums();
    var x = new double[130];
    Arrays.fill(x, 1);
    var given = HostTensor.of(TensorType.of(DType.F32, 130), x);
    var plan = op.plan(Map.of("x", given.type()), defaults(op), DEVICE);
    assertThat(plan.update()).contains(new Plan.Update("x", "y"));
    Arrays.setAll(x, i -> i + 1);
    try (var device = sanitizer();
        var stream = device.openStream()) {
      var kernels = new KernelCache(device);
      var copied = HostRun.of(device, kernels, plan, Map.of("x", given)).outputs().get("y");
      assertThat(Objects.requireNonNull(copied).toDoubles()).isEqualTo(x);
      var both = new DeviceTensor(given.type(), device.allocate(given.type().bytes()));
      stream.upload(given.data(), both.buffer(), 0);
      plan.enqueue(
          kernels,
          stream,
          new Bindings(
              Map.of("x", both),
              Map.of("y", both),
              Optional.of(device.allocate(plan.workspaceBytes())),
              op::mayReplace));
      var changed = new float[x.length];
      stream.download(both.buffer(), 0, MemorySegment.ofArray(changed));
      stream.synchronize();
      assertThat(IntStream.range(0, x.length).mapToDouble(i -> changed[i]).toArray()).isEqualTo(x);
    }
  }

  @Test
  void tensorsWithoutElementsNeedNoLaunch() {
    var op = runningSums();
    var empty = Map.of("x", TensorType.of(DType.F32, 0));
    var plan = new Problem(op, empty, defaults(op)).plans(DEVICE).getFirst();
    assertThat(plan.kernel()).isEqualTo("empty");
    var total = total().op();
    assertThatThrownBy(() -> new Problem(total, empty, defaults(total)).plans(DEVICE))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage(
            "input \"x\" has shape [0], but total requires elements to compute its result; every extent must be at least 1");
  }

  @Test
  void temporariesNeedElements() {
    var op = total().define("few", sizes -> sizes.size("N") / 100);
    op.nextLaunch()
        .kernel(DType.F32, Kernels.of(TestKernels::partialFloats))
        .kernel(DType.F64, Kernels.of(TestKernels::partialDoubles))
        .argument("partial")
        .temporary("other", "[few]")
        .argument("scale");
    assertThatThrownBy(() -> plan(op.op(), TensorType.of(DType.F32, 99)))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessageStartingWith("total needs a size few of at least 1, got 0 from ");
    assertThat(op.op().cases(new SplittableRandom(1), false))
        .isNotEmpty()
        .allSatisfy(each ->
            assertThat(Objects.requireNonNull(each.inputs().get("x")).type().shape().elements())
                .isGreaterThanOrEqualTo(100));
  }

  @Test
  void rejectsTemporariesThatAreTooLong() {
    var op =
        total()
            .define("many", sizes -> 1L << sizes.size("N"))
            .nextLaunch()
            .kernel(DType.F32, Kernels.of(TestKernels::partialFloats))
            .kernel(DType.F64, Kernels.of(TestKernels::partialDoubles))
            .argument("partial")
            .temporary("other", "[many]")
            .argument("scale")
            .op();
    assertThatThrownBy(() -> plan(op, TensorType.of(DType.F32, 32)))
        .isInstanceOf(OpException.TooLarge.class)
        .hasMessage(
            "temporary \"other\" has shape [4294967296]; kernels in Java take at most 2146435072 elements");
    assertThatThrownBy(() -> plan(op, TensorType.of(DType.F32, 62)))
        .isInstanceOf(OpException.TooLarge.class)
        .hasMessage(
            "temporary \"other\" would be f32[4611686018427387904]; the maximum is 2^63 - 1 bytes");
  }
}
