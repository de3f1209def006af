package dev.athanor.ops.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.ops.profile.OpProfile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ops from kernels in Java: their results, and the calls that they reject. */
class KernelOpTest {
  private static final Capability DEVICE = OpProfile.capability(Gpu.H200);

  static KernelOpBuilder affine() {
    return KernelOp.named("affine")
        .summary("Scales columns and adds a number.")
        .kernel(DType.F32, Kernels.of(TestKernels::affine))
        .input("x", "[…, C]", "the rows")
        .input("weight", "[C]", "a factor for each column")
        .output("y", "[…, C]", "x · weight + shift")
        .attribute(Attribute.number("shift", 0.5, "what is added"))
        .argument("C")
        .reference((sizes, inputs) -> {
          var x = inputs.get("x");
          var weight = inputs.get("weight");
          var y = new double[x.length];
          for (int i = 0; i < y.length; i++) {
            y[i] = x[i] * weight[i % weight.length] + sizes.attributes().number("shift");
          }
          return Map.of("y", y);
        });
  }

  /** Returns an op with all types of scalars, a flag and a choice. */
  private static KernelOp select() {
    return KernelOp.named("select")
        .summary("Takes or negates integers.")
        .kernel(DType.I64, Kernels.of(TestKernels::select))
        .input("x", "[N]", "numbers")
        .output("y", "[N]", "x, -x or a constant")
        .output("parity", "[N]", DType.BOOL, "whether x is odd")
        .attribute(Attribute.flag("negate", "whether signs change"))
        .attribute(Attribute.choice("mode", "keep", List.of("keep", "fill"), "what is taken"))
        .attribute(Attribute.integer("constant", 7, "the constant"))
        .attribute(Attribute.integer("small", 1, "added"))
        .draw("x", (draw, type, _) -> draw.integers(-99, 99, type))
        .reference((sizes, inputs) -> {
          var x = inputs.get("x");
          var y = new double[x.length];
          var parity = new double[x.length];
          var attributes = sizes.attributes();
          for (int i = 0; i < y.length; i++) {
            double value =
                attributes.choice("mode").equals("fill") ? attributes.integer("constant") : x[i];
            y[i] = (attributes.flag("negate") ? -value : value) + attributes.integer("small");
            parity[i] = x[i] % 2 == 0 ? 0 : 1;
          }
          return Map.of("y", y, "parity", parity);
        })
        .op();
  }

  /** Returns an op with a kernel for each dtype. */
  private static KernelOp square() {
    return KernelOp.named("square")
        .summary("Squares numbers.")
        .kernel(DType.F32, Kernels.of(TestKernels::squareFloats))
        .kernel(DType.F16, Kernels.of(TestKernels::squareHalves))
        .kernel(DType.BF16, Kernels.of(TestKernels::squareBfloats))
        .input("x", "[N]", "numbers")
        .output("y", "[N]", "their squares")
        .reference((_, inputs) -> {
          var y = new double[inputs.get("x").length];
          for (int i = 0; i < y.length; i++) {
            y[i] = inputs.get("x")[i] * inputs.get("x")[i];
          }
          return Map.of("y", y);
        })
        .op();
  }

  @Test
  void kernelsOf16BitFloatsMatchTheReference() {
    var checks = new ArrayList<Check>();
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      new Verification(device, List.of(square()), false, 1, OptionalInt.empty()).run(checks::add);
    }
    assertThat(checks)
        .flatExtracting(check -> check.inputs().values())
        .extracting(TensorType::dtype)
        .contains(DType.F32, DType.F16, DType.BF16);
    assertThat(checks).allSatisfy(check -> assertThat(check.failure()).isEmpty());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void kernelsMatchTheReference(boolean quick) {
    var checks = new ArrayList<Check>();
    var options = EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      var ops = List.of(affine().op(), select());
      new Verification(device, ops, quick, 1, OptionalInt.empty()).run(checks::add);
    }
    assertThat(checks).hasSize(quick ? 4 : 16);
    assertThat(checks).allSatisfy(check -> assertThat(check.failure()).isEmpty());
  }

  /** Returns an op that adds an optional bias, or 1 without one. */
  private static KernelOp bias() {
    return KernelOp.named("bias")
        .summary("Adds a bias, or 1.")
        .kernel(DType.F32, Kernels.of(TestKernels::addBias))
        .input("x", "[…, C]", "the rows")
        .optional("bias", "[C]", "added to each row")
        .output("y", "[…, C]", "the sums")
        .argument("C")
        .reference((_, inputs) -> {
          var y = inputs.get("x").clone();
          for (int i = 0; i < y.length; i++) {
            y[i] += inputs.has("bias") ? inputs.get("bias")[i % inputs.get("bias").length] : 1;
          }
          return Map.of("y", y);
        })
        .op();
  }

  /** Returns an op that doubles some rows of a tensor and leaves the others. */
  private static KernelOp update() {
    return KernelOp.named("double-rows")
        .summary("Doubles the rows with odd numbers.")
        .kernel(DType.F32, Kernels.of(TestKernels::doubleChosen))
        .input("rows", "[R]", DType.I32, "a number for each row")
        .update("x", "y", "[R, C]", "the rows")
        .argument("C")
        .reference((sizes, inputs) -> {
          var y = inputs.get("x").clone();
          for (int i = 0; i < y.length; i++) {
            boolean chosen = inputs.get("rows")[(int) (i / sizes.size("C"))] % 2 != 0;
            y[i] *= chosen ? 2 : 1;
          }
          return Map.of("y", y);
        })
        .op();
  }

  @Test
  void optionalInputsMayBeAbsent() {
    assertThat(bias().cases(new SplittableRandom(1), false))
        .extracting(each -> each.inputs().keySet())
        .contains(Set.of("x", "bias"), Set.of("x"));
    var options = EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      Verification.require(device, List.of(bias()));
    }
    assertThatThrownBy(() ->
            bias()
                .plan(
                    Map.of(
                        "x", TensorType.of(DType.F32, 4, 3), "bias", TensorType.of(DType.F32, 2)),
                    Attributes.of(bias().description(), Map.of()),
                    DEVICE))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessageContaining("bias");
  }

  @Test
  void anInputCanBeUpdatedInPlace() {
    var options = EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      Verification.require(device, List.of(update()));
    }
    assertThat(update().mayReplace("x")).isTrue();
    assertThat(update().mayReplace("rows")).isFalse();
    var types = Map.of("rows", TensorType.of(DType.I32, 4), "x", TensorType.of(DType.F32, 4, 3));
    var plan = update().plan(types, Attributes.of(update().description(), Map.of()), DEVICE);
    assertThat(plan.update()).contains(new Plan.Update("x", "y"));
  }

  @Test
  void verificationFindsWrongResults() {
    var wrong =
        affine()
            .tolerance(Tolerance.exact())
            .reference((_, inputs) -> Map.of("y", inputs.get("x")))
            .op();
    try (var device = new EmulatedDevice()) {
      Verification.require(device, List.of(affine().op()));
      assertThatThrownBy(() -> Verification.require(device, List.of(wrong)))
          .isInstanceOf(AssertionError.class)
          .hasMessageStartingWith("8 of 8 checks failed:\naffine, case 1 {")
          .message()
          .hasLineCount(4);
    }
  }

  @Test
  void verificationFailsWithoutCases() {
    try (var device = new EmulatedDevice()) {
      assertThatThrownBy(() -> Verification.require(device, List.of()))
          .hasMessage("no case can run: []");
    }
  }

  @Test
  void casesCoverFlagsAndChoices() {
    var cases = select().cases(new SplittableRandom(1), false);
    assertThat(cases).extracting(each -> each.attributes().flag("negate")).contains(true, false);
    assertThat(cases).extracting(each -> each.attributes().choice("mode")).contains("keep", "fill");
  }

  @Test
  void gridHasAThreadForEachElementByDefault() {
    var plan = plan(affine().op(), Map.of(), TensorType.of(DType.F32, 3, 100), 100);
    var step = plan.steps().getFirst();
    assertThat(step.grid().x()).isEqualTo(3);
    assertThat(step.threads()).isEqualTo(128);
  }

  private static LaunchPlan plan(
      KernelOp op, Map<String, ?> attributes, TensorType x, long columns) {
    return (LaunchPlan)
        op.plan(
            Map.of("x", x, "weight", TensorType.of(DType.F32, columns)),
            Attributes.of(op.description(), attributes),
            DEVICE);
  }

  @Test
  void rejectsInconsistentShapes() {
    var op = affine().op();
    assertThatThrownBy(() -> plan(op, Map.of(), TensorType.of(DType.F32, 2, 4), 5))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage("weight [5] has C = 5 but x [2, 4] has C = 4; they must be equal");
    assertThatThrownBy(() -> plan(op, Map.of(), TensorType.of(DType.F32), 5))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage("input \"x\" has shape []; it must be […, C]");
  }

  @Test
  void checksFixedAndRepeatedExtents() {
    var op =
        KernelOp.named("gram")
            .summary("Scales.")
            .kernel(DType.F32, Kernels.of(TestKernels::affine))
            .input("x", "[C, C]", "a square")
            .input("weight", "[3]", "three")
            .output("y", "[C, C]", "a square")
            .attribute(Attribute.number("shift", 0, "added"))
            .argument("C")
            .reference((_, inputs) -> Map.of("y", inputs.get("x")))
            .op();
    assertThatThrownBy(() -> plan(op, Map.of(), TensorType.of(DType.F32, 2, 3), 3))
        .hasMessage("input \"x\" has shape [2, 3]; it must be [C, C]");
    assertThatThrownBy(() -> plan(op, Map.of(), TensorType.of(DType.F32, 2, 2), 4))
        .hasMessage("input \"weight\" has shape [4]; it must be [3]");
  }

  @Test
  void rejectsDifferentDtypes() {
    assertThatThrownBy(() -> plan(affine().op(), Map.of(), TensorType.of(DType.F16, 2, 4), 4))
        .isInstanceOf(OpException.UnsupportedDType.class)
        .hasMessage("x is f16 but weight is f32; they must be the same");
  }

  @Test
  void rejectsSizesBelowOne() {
    var op = affine().define("blocks", sizes -> sizes.size("C") / 128).grid("blocks").op();
    assertThatThrownBy(() -> plan(op, Map.of(), TensorType.of(DType.F32, 2, 4), 4))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessageMatching(
            "affine needs a size blocks of at least 1, got 0 from \\{(…=2, C=4|C=4, …=2)}");
  }

  @Test
  void rejectsNumbersOutOfRange() {
    assertThatThrownBy(
            () -> plan(affine().op(), Map.of("shift", 1e300), TensorType.of(DType.F32, 4), 4))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("attribute \"shift\" must be in the range of f32, got 1.0E300");
    var op = select();
    assertThatThrownBy(() ->
            op.plan(
                Map.of("x", TensorType.of(DType.I64, 4)),
                Attributes.of(op.description(), Map.of("small", 1L << 40)),
                DEVICE))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("attribute \"small\" must be from -2^31 to 2^31 - 1, got 1099511627776");
  }

  @Test
  void rejectsArraysThatAreTooLong() {
    assertThatThrownBy(
            () -> plan(affine().op(), Map.of(), TensorType.of(DType.F32, 1L << 30, 4), 4))
        .isInstanceOf(OpException.TooLarge.class)
        .hasMessage(
            "input \"x\" has shape [1073741824, 4]; kernels in Java take at most 2146435072 elements");
  }

  @Test
  void reportsUnknownInputsInReferences() {
    var op = affine().reference((_, inputs) -> Map.of("y", inputs.get("z"))).op();
    var problem = op.cases(new SplittableRandom(1), true).getFirst();
    assertThatThrownBy(() -> op.reference(problem.inputs(), problem.attributes()))
        .hasMessage("the reference asks for the input \"z\"; inputs are x, weight");
  }

  @Test
  void reportsUnknownSizes() {
    var op = affine().define("blocks", sizes -> sizes.size("R")).grid("blocks").op();
    assertThatThrownBy(() -> plan(op, Map.of(), TensorType.of(DType.F32, 4), 4))
        .hasMessageContaining("there is no size \"R\"; sizes are ");
  }
}
