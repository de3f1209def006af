package dev.athanor.ops.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks that descriptions that do not match their kernels are rejected, with the name of the op.
 */
class KernelDefinitionTest {

  private static KernelOpBuilder named(String name) {
    return KernelOp.named(name)
        .summary("Copies.")
        .reference((_, inputs) -> Map.of("y", inputs.get("x")));
  }

  private static KernelOpBuilder halves() {
    return named("copy").kernel(DType.F16, Kernels.of(TestKernels::copyHalves));
  }

  private static KernelOpBuilder copy() {
    return halves().input("x", "[N]", "numbers").output("y", "[N]", "the same numbers");
  }

  private static Arguments row(String message, KernelOpBuilder builder) {
    return Arguments.of(message, builder);
  }

  static Stream<Arguments> invalid() {
    return Stream.of(
        row(
            "op \"Copy It\": the name is invalid; use lower-case letters, digits and single hyphens, such as row-sum",
            named("Copy It")
                .kernel(DType.F16, Kernels.of(TestKernels::copyHalves))
                .input("x", "[N]", "")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": the reference is missing; call reference(…) with the outputs in float64",
            KernelOp.named("copy").summary("Copies.")),
        row(
            "op \"copy\": the kernel is missing; call kernel(DType.F32, Kernels.of(Class::method))",
            named("copy")),
        row("op \"copy\": the summary is missing; call summary(…)", copy().summary(" ")),
        row("op \"copy\": there is no output; call output(…)", halves()),
        row(
            "op \"copy\": the name \"x\" is used twice; tensors, attributes and sizes need different names, and argument(\"x\") passes one again",
            halves().input("x", "[N]", "").output("x", "[N]", "")),
        row(
            "op \"copy\": the name \"N\" is used twice; tensors, attributes and sizes need different names, and argument(\"N\") passes one again",
            copy().define("N", _ -> 1)),
        row(
            "op \"copy\": the name \"the x\" is invalid; use letters, digits and _, with a letter first",
            halves().input("the x", "[N]", "").output("y", "[N]", "")),
        row(
            "op \"copy\": the shape [M] of output \"y\" has M, which is in the shape of no input; define it with define(\"M\", …)",
            halves().input("x", "[N]", "").output("y", "[M]", "")),
        row(
            "op \"copy\": the shape [… , N] of output \"y\" has …, which is in the shape of no input; use names",
            halves().input("x", "[N]", "").output("y", "[… , N]", "")),
        row(
            "op \"copy\": the shape [M] of the optional input \"x\" has M, which is in the shape of no required input",
            halves().optional("x", "[M]", "").output("y", "[N]", "")),
        row(
            "op \"copy\": several parameters are updated; an op updates at most one",
            halves().update("a", "x", "[N]", "").update("b", "y", "[N]", "")),
        row(
            "op \"copy\": there is no size \"M\"; sizes are N, others need define(\"M\", …)",
            copy().grid("M")),
        row(
            "op \"copy\": the grid has 4 dimensions; give one to three sizes, for x, y and z",
            copy().grid("N", "N", "N", "N")),
        row(
            "op \"copy\": the attribute \"k\" has no default, and a kernel needs a value; give a default or use asRequired()",
            copy().attribute(Attribute.integer("k", "a number"))),
        row(
            "op \"copy\": copyHalves has 2 parameters (short[] x, short[] y), and the description has 3 (input \"x\", output \"y\", size \"N\"); describe each parameter, in order",
            copy().argument("N")),
        row(
            "op \"copy\": the parameter x of copyHalves is short[], and input \"x\" of f32 needs float[] or MemorySegment",
            halves().input("x", "[N]", DType.F32, "").output("y", "[N]", "")),
        row(
            "op \"copy\": input \"x\" of q4_0 is stored in blocks, which kernels in Java cannot read",
            halves().input("x", "[N]", DType.Q4_0, "").output("y", "[N]", "")),
        row(
            "op \"copy\": copyHalves never writes its parameter x, which is output \"y\" of f16; describe it as an input, or check the order",
            halves().output("y", "[8]", "").input("x", "[N]", "")),
        row(
            "op \"copy\": swap writes its parameter x, which is input \"x\" of i32; describe it as an output, or write to another array",
            named("copy")
                .kernel(DType.I32, Kernels.of(TestKernels::swap))
                .input("x", "[N]", "")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": copy declares no blockSize; write @GpuKernel(blockSize = 128), or call block(…)",
            named("copy")
                .kernel(DType.F32, Kernels.of(TestKernels::copy))
                .input("x", "[N]", "")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": copyHalves declares blocks of 32x1x1 threads, and block(…) says 64x1x1; remove one",
            copy().block(Dim3.of(64))),
        row(
            "op \"copy\": copyHalves has no dynamic shared array; remove sharedBytes(…)",
            copy().sharedBytes(_ -> 64)),
        row(
            "op \"copy\": waits calls Gpu.gridBarrier, which ops cannot; split it there into two launches",
            named("copy")
                .kernel(DType.F32, Kernels.of(TestKernels::waits))
                .input("x", "[N]", "")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": prints calls Gpu.print, which ops cannot; print in a launch of the kernel alone",
            named("copy")
                .kernel(DType.F32, Kernels.of(TestKernels::prints))
                .input("x", "[N]", "")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": shared has a dynamic shared array; give its size with sharedBytes(…)",
            named("copy")
                .kernel(DType.F32, Kernels.of(TestKernels::shared))
                .input("x", "[N]", "")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": there are kernels for f16, bf16, but all tensors have dtypes of their own; describe an input without a dtype",
            halves()
                .kernel(DType.BF16, Kernels.of(TestKernels::copyHalves))
                .input("x", "[N]", DType.F16, "")
                .output("y", "[N]", DType.F16, "")),
        row(
            "op \"copy\": draw(…) names the input \"z\"; inputs are x",
            copy().draw("z", (draw, type, _) -> draw.usual(type))),
        row(
            "op \"copy\": the case \"N=3 M\" has \"M\"; write sizes (N) and attributes as NAME=NUMBER",
            copy().cases("N=3 M")),
        row("op \"copy\": the case \"\" lacks the size N; write N=NUMBER", copy().cases("")));
  }

  /** Returns an op that copies x to a temporary tensor, and begins the next launch. */
  private static KernelOpBuilder copies() {
    return halves().input("x", "[N]", "numbers").temporary("t", "[N]").nextLaunch();
  }

  private static KernelOpBuilder next() {
    return copies().kernel(DType.F16, Kernels.of(TestKernels::copyHalves));
  }

  static Stream<Arguments> invalidLaunches() {
    return Stream.of(
        row(
            "op \"copy\": the kernel of launch 2 is missing; call kernel(DType.F32, Kernels.of(Class::method))",
            copies()),
        row(
            "op \"copy\": launch 2 has kernels for bf16, and launch 1 for f16; give each launch a kernel for each dtype",
            copies().kernel(DType.BF16, Kernels.of(TestKernels::copyHalves))),
        row(
            "op \"copy\": argument(\"u\") is unknown; tensors are x, t, y, attributes are none, sizes are N, other sizes need define(…)",
            next().argument("u").output("y", "[N]", "")),
        row(
            "op \"copy\": there is no size \"M\"; sizes are N, others need define(\"M\", …)",
            next().argument("t").output("y", "[N]", "").grid("M")),
        row(
            "op \"copy\": the name \"t\" is used twice; tensors, attributes and sizes need different names, and argument(\"t\") passes one again",
            next().temporary("t", "[N]").output("y", "[N]", "")),
        row(
            "op \"copy\": the shape [M] of temporary \"u\" has M, which is in the shape of no input; define it with define(\"M\", …)",
            next()
                .argument("t")
                .temporary("u", "[M]")
                .nextLaunch()
                .kernel(DType.F16, Kernels.of(TestKernels::copyHalves))
                .argument("u")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": copyHalves never writes its parameter x, which is temporary \"u\" of f16, and no earlier launch does; write it first, or check the order",
            next().temporary("u", "[N]").output("y", "[N]", "")),
        row(
            "op \"copy\": temporary \"u\" of q4_0 is stored in blocks, which kernels in Java cannot read",
            next().temporary("u", "[N]", DType.Q4_0).output("y", "[N]", "")),
        row(
            "op \"copy\": the parameter x of copyHalves is short[], and temporary \"u\" of f64 needs double[] or MemorySegment",
            next().temporary("u", "[N]", DType.F64).output("y", "[N]", "")),
        row(
            "op \"copy\": copyHalves writes its parameter y, which is input \"x\" of f16; describe it as an output, or write to another array",
            next()
                .argument("t")
                .argument("x")
                .nextLaunch()
                .kernel(DType.F16, Kernels.of(TestKernels::copyHalves))
                .argument("t")
                .output("y", "[N]", "")),
        row(
            "op \"copy\": copyHalves has 2 parameters (short[] x, short[] y), and the description has 1 (temporary \"t\"); describe each parameter, in order",
            next()
                .argument("t")
                .nextLaunch()
                .kernel(DType.F16, Kernels.of(TestKernels::copyHalves))
                .output("y", "[N]", "")),
        row(
            "op \"copy\": idle writes none of its parameters; write an output or a temporary tensor, or remove the launch",
            next()
                .argument("t")
                .output("y", "[N]", "")
                .nextLaunch()
                .kernel(DType.F16, Kernels.of(TestKernels::idle))
                .argument("y")),
        row(
            "op \"copy\": argument(\"x\") is passed to a launch with or after \"y\", which overwrites it in place; pass it to earlier launches, or a copy",
            halves()
                .argument("x")
                .update("x", "y", "[N]", "")
                .nextLaunch()
                .kernel(DType.F16, Kernels.of(TestKernels::copyHalves))
                .argument("x")
                .temporary("t", "[N]")));
  }

  @ParameterizedTest
  @MethodSource({"invalid", "invalidLaunches"})
  void rejectsInvalidDescriptions(String message, KernelOpBuilder builder) {
    assertThatThrownBy(builder::op)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }

  @Test
  void rejectsMethodsThatCannotBeKernels() {
    var builder =
        named("copy")
            .kernel(DType.F32, Kernels.of(TestKernels::allocates))
            .input("x", "[N]", "")
            .output("y", "[N]", "");
    assertThatThrownBy(builder::op)
        .hasMessageMatching(
            "op \"copy\": TestKernels\\.java:\\d+: the length of `new float\\[…]` is not a constant.*; use a compile-time constant.* \\(in allocates\\)");
  }

  @Test
  void requiredAttributesNeedCases() {
    UnaryOperator<KernelOpBuilder> withShift =
        builder ->
            builder
                .kernel(DType.F32, Kernels.of(TestKernels::affine))
                .input("x", "[…, C]", "")
                .input("weight", "[C]", "")
                .output("y", "[…, C]", "")
                .attribute(Attribute.number("shift", "added").asRequired())
                .argument("C");
    assertThatThrownBy(withShift.apply(named("affine"))::op)
        .hasMessage(
            "op \"affine\": an attribute is required, so cases cannot be chosen; call cases(…)");
    assertThatThrownBy(withShift.apply(named("affine")).cases("…=2 C=3 shift=much")::op)
        .hasMessage(
            "op \"affine\": the case \"…=2 C=3 shift=much\": attribute \"shift\" must be a finite number, got \"much\"");
    assertThat(withShift.apply(named("affine")).cases("…=2 C=3 shift=2").op().description().name())
        .isEqualTo("affine");
  }

  @Test
  void rejectsInvalidShapesImmediately() {
    assertThatThrownBy(() -> halves().input("x", "N, M", ""))
        .hasMessage(
            "the shape \"N, M\" of input \"x\" of op \"copy\" is invalid; write names or numbers, such as [R, C], [C, 3], […, C] or []");
    assertThatThrownBy(() -> halves().input("x", "[N, …]", "")).hasMessageContaining("is invalid");
  }

  @Test
  void rejectsDuplicateKernelsAndSizes() {
    assertThatThrownBy(() -> halves().kernel(DType.F16, Kernels.of(TestKernels::copyHalves)))
        .hasMessage(
            "op \"copy\": there are two kernels for f16; kernels of a further launch follow nextLaunch()");
    assertThatThrownBy(() -> copy().define("M", _ -> 1).define("M", _ -> 2))
        .hasMessage("op \"copy\": the size M is defined twice");
  }

  @Test
  void describesTheOp() {
    var description = copy().op().description();
    assertThat(description.formula()).isEqualTo("as in TestKernels.copyHalves");
    assertThat(description.outputs().getFirst().dtype()).isEqualTo("same as x");
    assertThat(description.inputs().getFirst().dtypes()).containsExactly(DType.F16);
  }
}
